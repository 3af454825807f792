# Files of other languages as strings of the program: CUDA, style sheets, scripts of shells, pages.
#
#     hirc_embed(target pattern...)     files of src/, by patterns relative to it
#
# src/cuda/kernels/gemm.cuh becomes `const char cuda_kernels_gemm_cuh[]`: the path with `_` for each `/` and `.`.
# "cuda/embedded.h" declares the strings of src/cuda. The strings are the files but for two things: a comment
# /* … */ at the beginning, with the empty line after it, is for readers of the file; and style sheets have neither
# comments nor blanks that browsers do not need.
#
# The build runs this file as a script too: cmake -DFILE=… -DSYMBOL=… -DOUTPUT=… -P tools/embed.cmake

if(CMAKE_SCRIPT_MODE_FILE)
	file(READ ${FILE} text)
	string(REGEX REPLACE "^/\\*([^*]|\\*+[^*/])*\\*+/\n\n" "" text "${text}")
	if(FILE MATCHES "\\.css$")
		string(REGEX REPLACE "/\\*([^*]|\\*+[^*/])*\\*+/" "" text "${text}")
		string(REGEX REPLACE "[ \t\n]*([{}>;,!])[ \t\n]*" "\\1" text "${text}")
		string(REPLACE ": " ":" text "${text}")
	endif()
	string(REPLACE "\\" "\\\\" text "${text}")
	string(REPLACE "\"" "\\\"" text "${text}")
	string(REPLACE "?" "\\?" text "${text}") # no trigraphs
	string(REPLACE "\t" "\\t" text "${text}")
	string(REPLACE "\n" "\\n\"\n\t\"" text "${text}")
	file(WRITE ${OUTPUT} "extern const char ${SYMBOL}[];\nconst char ${SYMBOL}[] =\n\t\"${text}\";\n")
	return()
endif()

set(HIRC_EMBED_SCRIPT ${CMAKE_CURRENT_LIST_FILE})

function(hirc_embed target)
	list(TRANSFORM ARGN PREPEND src/)
	file(GLOB files RELATIVE ${PROJECT_SOURCE_DIR}/src CONFIGURE_DEPENDS ${ARGN})
	set(declarations)
	foreach(file IN LISTS files)
		string(REGEX REPLACE "[/.]" "_" symbol ${file})
		set(output ${PROJECT_BINARY_DIR}/generated/${file}.c)
		get_filename_component(made_in ${output} DIRECTORY)
		file(MAKE_DIRECTORY ${made_in})
		add_custom_command(OUTPUT ${output}
			COMMAND ${CMAKE_COMMAND} -DFILE=${PROJECT_SOURCE_DIR}/src/${file} -DSYMBOL=${symbol} -DOUTPUT=${output}
				-P ${HIRC_EMBED_SCRIPT}
			DEPENDS src/${file} ${HIRC_EMBED_SCRIPT}
			COMMENT "embed src/${file}" VERBATIM)
		target_sources(${target} PRIVATE ${output})
		string(APPEND declarations "extern const char ${symbol}[];\n")
		string(REGEX REPLACE "/.*" "" folder ${file})
	endforeach()
	file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/generated/${folder}/embedded.h CONTENT "${declarations}" @ONLY)
endfunction()
