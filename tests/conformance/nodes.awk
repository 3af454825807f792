# The statements of a dump in the concise surface, by name, one line a program: `allocate for { set wait }`.
function put(word) { line = line == "" ? word : line " " word }
/^program / { line = ""; inside = 1; next }
!inside || /^ *(input|inout|schedule|let|ids) / { next }
/^}/ { print line; inside = 0; next }
/^ *}$/ { put("}"); next }
/^ *} else/ { put("} else {"); next }
/^ *for / { put("for {"); next }
/^ *if / { put("if {"); next }
{
	sub(/^.* (=|<-) /, "")
	if (match($0, /[a-z_0-9]+\(/))
		put(substr($0, RSTART, RLENGTH - 1))
}
