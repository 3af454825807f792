# Makes strings in the program of files in other languages: CUDA, style sheets, shell scripts, pages.
#
#     hirc_embed(target pattern...)     files of src/, by patterns relative to it
#
# src/cuda/kernels/gemm.cuh becomes `const char cuda_kernels_gemm_cuh[]`: the path with `_` for each `/` and `.`.
# "cuda/embedded.h" declares the strings of src/cuda. The strings equal the files, with two exceptions. A comment
# /* … */ at the beginning, with the empty line after it, is left out. Style sheets lose all comments, and blanks that
# browsers do not need.
#
#     hirc_embed_examples(target)       the examples of diagnostics, tests/diag/E0203.hir and so on
#
# An example is a golden test: its command stands in the first line as `%S/example %s && COMMAND; test $? = CODE`, its
# files after the directives, its fix after `# FIX:`. "base/examples.h" has for each file
#
#     static const struct diagnostic_example example_E0203 = {"COMMAND", "FILES", "FIX"};
#
# The build also runs this file as a script: cmake -DFILE=… -DSYMBOL=… -DOUTPUT=… -P tools/embed.cmake, and
# cmake -DEXAMPLES=FOLDER -DOUTPUT=… -P tools/embed.cmake

# Makes a string of C from a text.
function(quote text out)
	string(REPLACE "\\" "\\\\" text "${text}")
	string(REPLACE "\"" "\\\"" text "${text}")
	string(REPLACE "?" "\\?" text "${text}") # no trigraphs
	string(REPLACE "\t" "\\t" text "${text}")
	string(REPLACE "\n" "\\n\"\n\t\"" text "${text}")
	set(${out} "\"${text}\"" PARENT_SCOPE)
endfunction()

# Splits a text at a mark, which it must contain.
function(cut text mark before after)
	string(FIND "${text}" "${mark}" at)
	if(at LESS 0)
		message(FATAL_ERROR "${file}: lacks '${mark}'")
	endif()
	string(SUBSTRING "${text}" 0 ${at} first)
	string(LENGTH "${mark}" length)
	math(EXPR at "${at} + ${length}")
	string(SUBSTRING "${text}" ${at} -1 rest)
	set(${before} "${first}" PARENT_SCOPE)
	set(${after} "${rest}" PARENT_SCOPE)
endfunction()

if(CMAKE_SCRIPT_MODE_FILE AND EXAMPLES)
	set(all)
	file(GLOB files ${EXAMPLES}/[EW][0-9][0-9][0-9][0-9].hir)
	foreach(file IN LISTS files)
		get_filename_component(number ${file} NAME_WE)
		file(READ ${file} text)
		cut("${text}" "# RUN: %S/example %s && " before text)
		cut("${text}" "\n" command text)
		string(REGEX REPLACE "; test [$][?] = [0-9]+$" "" command "${command}")
		string(REGEX REPLACE " >/dev/null$" "" command "${command}")
		while(text MATCHES "^# (RUN|REQUIRES): [^\n]*\n")
			cut("${text}" "\n" before text)
		endwhile()
		string(REGEX REPLACE "^==> a.hir <==\n" "" text "${text}")
		cut("${text}" "# FIX:\n" body text)
		cut("\n${text}" "\n# EXPECT:\n" fix text)
		string(REGEX REPLACE "\n# ?" "\n" fix "${fix}\n")
		string(SUBSTRING "${fix}" 1 -1 fix)
		if(NOT fix MATCHES "^[-+ ] ") # a sentence
			string(REGEX REPLACE "\n$" "" fix "${fix}")
			string(REPLACE "\n" " " fix "${fix}")
		endif()
		quote("${command}" command)
		quote("${body}" body)
		quote("${fix}" fix)
		string(APPEND all
			"static const struct diagnostic_example example_${number} = {\n\t${command},\n\t${body},\n\t${fix},\n};\n")
	endforeach()
	file(WRITE ${OUTPUT} "${all}")
	return()
endif()

if(CMAKE_SCRIPT_MODE_FILE)
	file(READ ${FILE} text)
	string(REGEX REPLACE "^/\\*([^*]|\\*+[^*/])*\\*+/\n\n" "" text "${text}")
	if(FILE MATCHES "\\.css$")
		string(REGEX REPLACE "/\\*([^*]|\\*+[^*/])*\\*+/" "" text "${text}")
		string(REGEX REPLACE "[ \t\n]*([{}>;,!])[ \t\n]*" "\\1" text "${text}")
		string(REPLACE ": " ":" text "${text}")
	endif()
	quote("${text}" text)
	file(WRITE ${OUTPUT} "extern const char ${SYMBOL}[];\nconst char ${SYMBOL}[] =\n\t${text};\n")
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

function(hirc_embed_examples target)
	set(folder ${PROJECT_SOURCE_DIR}/tests/diag)
	file(GLOB files CONFIGURE_DEPENDS ${folder}/[EW][0-9][0-9][0-9][0-9].hir)
	set(output ${PROJECT_BINARY_DIR}/generated/base/examples.h)
	file(MAKE_DIRECTORY ${PROJECT_BINARY_DIR}/generated/base)
	add_custom_command(OUTPUT ${output}
		COMMAND ${CMAKE_COMMAND} -DEXAMPLES=${folder} -DOUTPUT=${output} -P ${HIRC_EMBED_SCRIPT}
		DEPENDS ${files} ${HIRC_EMBED_SCRIPT}
		COMMENT "embed tests/diag" VERBATIM)
	target_sources(${target} PRIVATE ${output})
endfunction()
