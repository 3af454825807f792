#compdef hirc
# Completion for zsh, made by `hirc completions zsh` of hirc's options.

_hirc()
{
	local -a commands
	commands=(
		# @commands@
	)
	if ((CURRENT == 2)); then
		if [[ $words[2] == -* ]]; then
			compadd -- --help --version
		else
			_describe -t commands command commands
		fi
		return
	fi
	local command=$words[2]
	case $command in
	# @aliases@
	esac
	shift words
	((CURRENT--))
	(($+functions[_hirc_$command])) && _hirc_$command
}
# @functions@

# PATTERN WORD...: words, and files of the pattern, `any` or `none`
_hirc_argument()
{
	local pattern=$1
	shift
	(($#)) && compadd -- "$@"
	case $pattern in
	none) ;;
	any) _files ;;
	*) _files -g $pattern ;;
	esac
}

# NAME=FILE
_hirc_file_after()
{
	compset -P '*=' && _files
}

_hirc "$@"
