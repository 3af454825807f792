#compdef hirc
# Completion for zsh: `hirc complete` knows the words.
_hirc()
{
	local line
	local -a whole part whole_help part_help
	for line in ${(f)"$($words[1] complete "${(@Q)words[2,CURRENT-1]}" "${(Q)PREFIX}" 2>/dev/null)"}; do
		if [[ ${line%%$'\t'*} == *[=/] ]]; then
			part+=("${line%%$'\t'*}") part_help+=("${line/$'\t'/ -- }")
		else
			whole+=("${line%%$'\t'*}") whole_help+=("${line/$'\t'/ -- }")
		fi
	done
	compadd -l -d whole_help -a whole
	compadd -l -S '' -d part_help -a part
}
_hirc "$@"
