#!/bin/sh
# Both surfaces carry one IR: prints of a program, read again, give both prints again.
#
#     surfaces.sh STAGE FILE…      STAGE: parse, another pass, or all
#
# Prints nothing if all is well; otherwise the first lines that differ.
stage=$1
shift
stop=
[ "$stage" = all ] || stop=--stop-after=$stage
folder=$(mktemp -d) || exit 1
trap 'rm -rf "$folder"' EXIT

# Reads FILE as SURFACE, and compares its prints with the prints of the program itself.
again() {
	if ! hirc compile "$1" --stop-after=parse --dump="$2" -o "$folder/again" 2> "$folder/messages"; then
		echo "$name: $3 cannot be read"
		head -n 3 "$folder/messages"
	elif ! cmp -s "$folder/$2" "$folder/again"; then
		echo "$name: $3 gives another $2 surface"
		diff "$folder/$2" "$folder/again" | head -n 6
	fi
}

for file in "$@"; do
	name=$(basename "$file")
	for surface in hir nvfuser; do
		hirc compile "$file" $stop --dump=$surface -o "$folder/$surface" || exit 1
	done
	for surface in hir nvfuser; do
		again "$folder/$surface" hir "the $surface surface"
		again "$folder/$surface" nvfuser "the $surface surface"
	done
done
