#!/bin/sh
# adversary.sh ARGUMENT...: $HIRC, whose `run` delays work as much as the program allows. The seed is drawn from the
# arguments and the program's size, or is $HIRC_SEED.
[ "$1" = run ] || exec "$HIRC" "$@"
for word; do # an engine of its own
	shift
	case $word in --engine=*) ;; *) set -- "$@" "$word" ;; esac
done
exec "$HIRC" "$@" --adversary="${HIRC_SEED:-$(($(printf '%s ' "$@" | cksum | cut -d ' ' -f 1) % 97))}"
