; Colours for tree-sitter. Lists of words are written by tools/editors/generate.

(comment) @comment
(string) @string
(integer) @number
(float) @number
(dtype) @type.builtin
(memory) @keyword.modifier
(primitive_name) @function.builtin

[
  "param" "const" "mesh" "group" "cluster" "program" "on" "input" "output" "inout" "let" "for" "in" "parallel" "if"
  "else" "schedule" "extern" "as" "and" "or" "not" "partial" "reduce" "rf" "unit" "launch_kernel"
] @keyword

["=" "<-" ".." "==" "!=" "<" "<=" ">" ">=" "+" "-" "*" "/" "%"] @operator
["(" ")" "[" "]" "{" "}"] @punctuation.bracket
["," ":" ";"] @punctuation.delimiter
"@" @punctuation.special

(program name: (_) @module)
(param name: (_) @constant)
(const name: (_) @constant)
(mesh name: (_) @module)
(mesh_axis name: (_) @property)
(group name: (_) @module)
(input name: (_) @variable.parameter)
(result name: (_) @variable)
(place name: (_) @attribute)
(key key: (_) @property)
(call function: (_) @function)

((call function: (identifier) @function.builtin)
  (#any-of? @function.builtin
; words: operations
  "add" "sub" "mul" "div" "mod" "fmod" "pow" "maximum" "minimum" "eq" "ne" "lt" "le" "gt" "ge"
  "isnan" "isinf" "isposinf" "isneginf" "isfinite" "signbit" "logical_and" "logical_or"
  "logical_not" "bitwise_and" "bitwise_or" "bitwise_xor" "bitwise_not" "bitwise_left_shift"
  "bitwise_right_shift" "gcd" "neg" "abs" "ceil" "floor" "round" "trunc" "exp" "log" "sqrt" "rsqrt"
  "sin" "cos" "tanh" "erf" "exp2" "expm1" "log2" "log10" "log1p" "tan" "asin" "acos" "atan" "sinh"
  "cosh" "asinh" "acosh" "atanh" "erfc" "erfinv" "erfcinv" "lgamma" "nextafter" "atan2" "relu"
  "gelu" "gelu_tanh" "silu" "sigmoid" "where" "cast" "broadcast" "reshape" "permute" "slice" "pad"
  "cat" "split" "scan" "topk" "gather" "scatter" "one_hot" "iota" "bitcast" "full" "uniform" "sum"
  "max" "min" "prod" "mean" "matmul" "linear" "grouped_matmul" "softmax" "sdpa" "sdpa_backward"
  "layernorm" "rmsnorm" "set" "allgather" "allreduce" "reduce_scatter" "broadcast_from" "reduce"
  "gather_to" "scatter_from" "all_to_all" "all_to_allv" "send_recv" "collective_permute" "send"
  "recv" "post" "share_mem_handles" "start_coalescing" "end_coalescing" "wait" "get_current_stream"
  "set_stream" "synchronize" "allocate" "deallocate" "shard_by_stream" "symmetric_view" "select"
  "pack" "unpack" "for" "if" "unit" "launch_kernel" "dispatch" "combine" "extern"
; end of words
))

((call function: (identifier) @function.builtin)
  (#any-of? @function.builtin
; words: functions
  "ceilDiv" "floorDiv" "min" "max" "axis_index" "size" "device"
; end of words
))

((place name: (identifier) @keyword.modifier)
  (#any-of? @keyword.modifier
; words: placements
  "stream" "serial" "swizzle1d" "block"
; end of words
))

((identifier) @constant.builtin
  (#any-of? @constant.builtin
; words: values
  "np" "rank" "streams" "inf" "nan"
; end of words
))
