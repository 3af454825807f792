# Completion for bash, made by `hirc completions bash` of hirc's options.

# _hirc_command COMMAND OPTION: into the caller's variables what the command takes, and
# what the option does.
_hirc_command()
{
	commands='@commands@help --help --version'
	case $1 in
	# @aliases@
	esac
	case $1 in
	# @options@
	esac
}

# _hirc_offer_words TEXT: what of the words begins with cur, after prefix.
_hirc_offer_words()
{
	local word
	while IFS= read -r word; do
		COMPREPLY+=("$word")
		[[ $word == *= ]] && compopt -o nospace 2>/dev/null
	done < <(compgen -P "$prefix" -W "$1" -- "$cur")
}

# _hirc_offer_files [-d | -f [-X PATTERN]]: likewise of files.
_hirc_offer_files()
{
	local word
	compopt -o filenames 2>/dev/null
	while IFS= read -r word; do
		COMPREPLY+=("$prefix$word")
	done < <(compgen "$@" -- "$cur")
}

# Programs, and folders that may hold some; any files where there are neither.
_hirc_offer_programs()
{
	local suffix
	for suffix in $suffixes; do
		_hirc_offer_files -f -X "!*.$suffix"
	done
	[[ $suffixes ]] && _hirc_offer_files -d
	((${#COMPREPLY[@]})) || _hirc_offer_files -f
}

_hirc()
{
	local IFS=$' \t\n' commands='' options='' negations='' takes='' arguments='' suffixes='' no_files=''
	local words='' list='' files='' prefix='' option='' i ended=''
	local cur=${COMP_WORDS[COMP_CWORD]} first=$COMP_CWORD command=${COMP_WORDS[1]}
	COMPREPLY=()
	_hirc_command "$command" ''
	if ((COMP_CWORD == 1)); then
		_hirc_offer_words "$commands"
		return
	fi
	# Readline cuts words at `=`: of `--name=value` it makes three. first: where what is completed begins.
	if [[ $cur == = ]]; then
		cur=''
		first=$((first + 1))
	fi
	while ((first > 3)) && [[ ${COMP_WORDS[first - 1]} == = ]]; do
		first=$((first - 2))
	done
	for ((i = 2; i < first; i++)); do
		[[ ${COMP_WORDS[i]} == -- ]] && ended=1
	done
	if [[ $ended ]]; then
		:
	elif ((first < COMP_CWORD)) && [[ ${COMP_WORDS[first]} == --* ]]; then
		option=${COMP_WORDS[first]}
	elif [[ $cur == --*=* ]]; then # where `=` does not cut
		option=${cur%%=*}
		prefix=$option=
		cur=${cur#*=}
	elif [[ $takes == *" ${COMP_WORDS[first - 1]} "* ]]; then
		option=${COMP_WORDS[first - 1]}
	fi
	if [[ $option ]]; then
		_hirc_command "$command" "$option"
		if [[ $list && $cur == *,* ]]; then
			prefix+=${cur%,*},
			cur=${cur##*,}
		fi
		[[ $words ]] && _hirc_offer_words "$words"
		case $files in
		/) _hirc_offer_files -d ;;
		'*') _hirc_offer_files -f ;;
		esac
	elif [[ ! $ended && $cur == --no* ]]; then
		_hirc_offer_words "$options $negations"
	elif [[ ! $ended && $cur == -* ]]; then
		_hirc_offer_words "$options"
	else
		_hirc_offer_words "$arguments"
		[[ $no_files ]] || _hirc_offer_programs
	fi
}

complete -F _hirc hirc
