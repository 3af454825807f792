#!/bin/sh
# lanes.sh ARGUMENT…: the program at $HIRC, whose `run` takes the engine `lanes`.
if [ "$1" = run ]; then
	shift
	set -- run --engine=lanes "$@"
fi
exec "$HIRC" "$@"
