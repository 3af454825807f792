# Completion for fish: `hirc complete` knows the words.
function __hirc_complete
	set -l words (commandline -opc)
	$words[1] complete $words[2..-1] (commandline -ct) 2>/dev/null
end
complete -c hirc -f -k -a '(__hirc_complete)'
