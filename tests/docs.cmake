# Tests of README and man pages: their examples and lists (tools/doctest), and the length of paragraphs.

if(TARGET hirc AND Python3_FOUND)
	set(doctest ${launcher} ${Python3_EXECUTABLE} ${PROJECT_SOURCE_DIR}/tools/doctest)
	file(GLOB pages RELATIVE ${PROJECT_SOURCE_DIR} CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/man/*.[1-9])
	foreach(page README.md examples/README.md ${pages})
		string(REGEX REPLACE "^man/|\\.md$" "" name ${page})
		add_test(NAME doc/${name} COMMAND ${doctest} --hirc $<TARGET_FILE:hirc> ${PROJECT_SOURCE_DIR}/${page})
		set_tests_properties(doc/${name} PROPERTIES LABELS parse TIMEOUT 120 RUN_SERIAL ON ENVIRONMENT "${environment}")
	endforeach()
	list(TRANSFORM pages PREPEND ${PROJECT_SOURCE_DIR}/)
	add_test(NAME doc/manual_pages COMMAND sh -c "command -v mandoc >/dev/null || exit 77; mandoc -T lint -W warning \"$@\"" sh
		${pages})
	set_tests_properties(doc/manual_pages PROPERTIES LABELS parse TIMEOUT 60 SKIP_RETURN_CODE 77)
	add_test(NAME doc/paragraphs COMMAND ${launcher} ${Python3_EXECUTABLE} ${PROJECT_SOURCE_DIR}/tools/check-paragraphs ${pages})
	set_tests_properties(doc/paragraphs PROPERTIES LABELS parse TIMEOUT 60 SKIP_RETURN_CODE 77)
	add_test(NAME doc/commands COMMAND ${launcher} ${Python3_EXECUTABLE} ${CMAKE_CURRENT_LIST_DIR}/manual_pages.py $<TARGET_FILE:hirc>)
	set_tests_properties(doc/commands PROPERTIES LABELS parse TIMEOUT 60 ENVIRONMENT "${environment}")
	add_test(NAME doc/options COMMAND ${launcher} ${Python3_EXECUTABLE} ${PROJECT_SOURCE_DIR}/tools/man-options
		--hirc $<TARGET_FILE:hirc>)
	set_tests_properties(doc/options PROPERTIES LABELS parse TIMEOUT 60 ENVIRONMENT "${environment}")
	add_test(NAME doc/diagnostics COMMAND ${launcher} ${Python3_EXECUTABLE} ${PROJECT_SOURCE_DIR}/tools/diagnostics-man
		--hirc $<TARGET_FILE:hirc>)
	set_tests_properties(doc/diagnostics PROPERTIES LABELS parse TIMEOUT 60 ENVIRONMENT "${environment}")
	add_test(NAME unit/doctest COMMAND ${doctest} --self-test)
	set_tests_properties(unit/doctest PROPERTIES LABELS unit TIMEOUT 60)
endif()
