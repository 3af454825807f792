# Completion for fish, made by `hirc completions fish` of hirc's options.

# Whether the command is of this name.
function __hirc_is
	set -l words (commandline -opc)
	set -q words[2]; or return 1
	set -l command $words[2]
	switch $command
		# @aliases@
	end
	test $command = $argv[1]
end

# Whether the command is still to come.
function __hirc_starts
	test (count (commandline -opc)) -eq 1
end

# Whether an argument is completed, not an option or its value.
function __hirc_argument
	__hirc_is $argv[1]; and not string match -q -- '-*' (commandline -ct)
end

function __hirc_folders
	__fish_complete_directories (commandline -ct | string replace -r '^--[^=]*=' '') ''
end

# Words of a list, after those that stand there and their comma.
function __hirc_list
	set -l before (commandline -ct | string replace -rf '^(--?[^=]*=)?(.*,)?[^,]*$' '$2')
	for word in $argv
		echo $before$word
	end
end

# The files of NAME=FILE.
function __hirc_file_after
	set -l value (commandline -ct | string replace -r '^--[^=]*=' '')
	set -l parts (string split -m 1 = -- $value)
	set -q parts[2]; and string replace -r '^' "$parts[1]=" -- (__fish_complete_path $parts[2])
end

complete -c hirc -f
complete -c hirc -n __hirc_starts -l help -d 'list the commands'
complete -c hirc -n __hirc_starts -l version -d 'version and what this build can do'
