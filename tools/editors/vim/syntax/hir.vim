" Vim syntax of hirc's programs, both surfaces. Lists of words are written by tools/editors/generate.
if exists("b:current_syntax")
  finish
endif
let s:cpo_save = &cpo
set cpo&vim
syn case match

" words: operations
syn keyword hirOperations add sub mul div mod fmod pow maximum minimum eq ne lt le gt ge isnan
syn keyword hirOperations isinf isposinf isneginf isfinite signbit logical_and logical_or
syn keyword hirOperations logical_not bitwise_and bitwise_or bitwise_xor bitwise_not
syn keyword hirOperations bitwise_left_shift bitwise_right_shift gcd neg abs ceil floor round trunc
syn keyword hirOperations exp log sqrt rsqrt sin cos tanh erf exp2 expm1 log2 log10 log1p tan asin
syn keyword hirOperations acos atan sinh cosh asinh acosh atanh erfc erfinv erfcinv lgamma
syn keyword hirOperations nextafter atan2 relu gelu gelu_tanh silu sigmoid where cast broadcast
syn keyword hirOperations reshape permute slice pad cat split scan topk gather scatter one_hot iota
syn keyword hirOperations bitcast full uniform sum max min prod mean matmul linear grouped_matmul
syn keyword hirOperations softmax sdpa sdpa_backward layernorm rmsnorm set allgather allreduce
syn keyword hirOperations reduce_scatter broadcast_from reduce gather_to scatter_from all_to_all
syn keyword hirOperations all_to_allv send_recv collective_permute send recv post share_mem_handles
syn keyword hirOperations start_coalescing end_coalescing wait get_current_stream set_stream
syn keyword hirOperations synchronize allocate deallocate shard_by_stream symmetric_view select
syn keyword hirOperations pack unpack for if unit launch_kernel dispatch combine extern
" end of words
" words: printed
syn keyword hirPrinted rng_uniform GroupedMmaOp Set Allgather Allreduce ReduceScatter Broadcast
syn keyword hirPrinted Reduce Gather Scatter AllToAll AllToAllv SendRecv CollectivePermute
syn keyword hirPrinted ShareMemHandles StartCoalescing EndCoalescing Wait GetCurrentStream
syn keyword hirPrinted SetCurrentStream Synchronize ALLOCATE Deallocate ShardByStream
syn keyword hirPrinted SymmetricContiguousView HirAliasSelect Pack Unpack FOR IF PostOnStream
syn keyword hirPrinted LaunchKernel Dispatch Combine
syn match hirPrinted "\<Set[.]Permute\>"
" end of words
" words: keywords
syn keyword hirKeywords param const mesh group program on input output inout let for in parallel if
syn keyword hirKeywords else schedule extern as and or not
" end of words
" words: container
syn keyword hirContainer FOR IF ELSE Manual from to into Stream StartCoalescing EndCoalescing
syn keyword hirContainer Deallocate
" end of words
" words: types
syn keyword hirTypes f64 f32 bf16 f16 f8e4m3 f8e5m2 i64 i32 i16 i8 u8 bool
" end of words
" words: printed_types
syn keyword hirPrintedTypes double float __bfloat __half __e4m3 __e5m2 int64_t int int16_t int8_t
syn keyword hirPrintedTypes uint8_t
" end of words
" words: memories
syn keyword hirMemories global local symmetric
" end of words
" words: values
syn keyword hirValues np rank streams inf nan
" end of words
" words: passes
syn match hirPasses contained "\v<%(propagate-shardings|decompose-reshardings|fuse-allgathers|merge-collectives|split-allreduces|chunk-collectives|stream-loops|zero-copy|lower-collectives|fuse-pointwise|schedule-overlap|allocate|assign-streams)>"
" end of words

" Words that mean something in one place only.
syn match hirContext "\v^\s*\zs%(name|ids|loop|attr|cluster|partial)\ze\s+[A-Za-z_`]"
syn match hirContext "\v[\])]\s*\zs%(partial|reduce)\ze\s*%(\w+\s*)?\("
" words: placements
syn match hirPlacements "\v\@\s*\zs<%(stream|serial|swizzle1d|block)>\ze\s*\("
" end of words
" words: initialisers
syn match hirInitialisers "\v\=\s*\zs<%(random|seed|scale|iota|zeros|full|value|file|path)>\ze\("
" end of words
" words: functions
syn match hirFunctions "\v<%(ceilDiv|floorDiv|min|max|axis_index|size|device)>\ze\("
" end of words
syn match hirAttribute "\v<\w+>\ze\s*\=%([^=]|$)" contained
syn region hirCall matchgroup=hirParen start="\v%(\w)@<=\(" end=")" transparent contains=TOP,hirAttribute
syn region hirAttributes matchgroup=hirParen start="\v%(\)|\])\s*\{" end="}" transparent oneline contains=TOP,hirAttribute

" Primitives stand in schedules alone; before them a word is a name.
syn region hirSchedule matchgroup=hirName start="\v%(<schedule\s+)@<=[^ {]+\s*\{" end="}" contains=hirPrimitives,hirNumber,hirComment,hirSide
syn match hirSide contained "\v<%(inner|outer|stream|serial|unstreamed|t|f|n)>"
" words: primitives
syn match hirPrimitives contained "\v<%(split|merge|swizzle1d|parallelize|reorder|allocation|contiguity)>"
" end of words

syn match hirTensor "\v<T\d+_%(g|l|s|t|sym)%(_\w+)?\ze\s*\["
syn match hirNumber "\v<%(0x\x+|\d+%(\.\d+)?%([eE][+-]?\d+)?)>"
syn match hirOperator "\v\<-|-\>|[-+*/%]|[=!<>]\=|[<>]|\.\."
syn match hirAt "@\s*\w\+" contains=hirPlacements
syn region hirString start=+"+ skip=+\\.+ end=+"+ oneline
syn match hirName "`[^`]*`"
syn match hirComment "#.*" contains=hirDirective,hirPassList,@Spell
syn match hirComment "^\s*//.*" contains=hirDirective,@Spell
syn match hirDirective contained "\v%(#|//)\s*\zs%(RUN|EXIT|EXPECT|REQUIRES|LABELS):"
syn match hirPassList contained "\v--%(passes|stop-after|print-after)\=\S+" contains=hirPasses

hi def link hirOperations Function
hi def link hirPrinted Function
hi def link hirFunctions Function
hi def link hirInitialisers Function
hi def link hirPrimitives Function
hi def link hirKeywords Keyword
hi def link hirContainer Keyword
hi def link hirContext Keyword
hi def link hirTypes Type
hi def link hirPrintedTypes Type
hi def link hirMemories StorageClass
hi def link hirValues Constant
hi def link hirPlacements Special
hi def link hirSide Special
hi def link hirAt Special
hi def link hirAttribute Identifier
hi def link hirTensor Identifier
hi def link hirNumber Number
hi def link hirOperator Operator
hi def link hirString String
hi def link hirName Identifier
hi def link hirComment Comment
hi def link hirDirective SpecialComment
hi def link hirPasses SpecialComment

let b:current_syntax = "hir"
let &cpo = s:cpo_save
unlet s:cpo_save
