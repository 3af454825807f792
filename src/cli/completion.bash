# Completion for bash: `hirc complete` knows the words.
_hirc()
{
	local word _
	COMPREPLY=()
	while IFS=$'\t' read -r word _; do
		[[ $word == *[=/] ]] && compopt -o nospace 2>/dev/null
		[[ $word == *[!A-Za-z0-9_=,./:@%+~-]* ]] && printf -v word %q "$word" # a file's name
		COMPREPLY+=("${word/#\\~/\~}")
	done < <("${COMP_WORDS[0]}" complete "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)
}
complete -F _hirc hirc
