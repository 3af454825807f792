# Examples of README and man pages, run by tools/doctest, which also checks what the pages list.

if(TARGET hirc AND Python3_FOUND)
	set(doctest ${launcher} ${Python3_EXECUTABLE} ${PROJECT_SOURCE_DIR}/tools/doctest)
	foreach(page README.md man/hirc.1 man/hirc-test.1 man/hir.5)
		string(REGEX REPLACE "^.*/|\\.md$" "" name ${page})
		add_test(NAME doc/${name} COMMAND ${doctest} --hirc $<TARGET_FILE:hirc> ${PROJECT_SOURCE_DIR}/${page})
		set_tests_properties(doc/${name} PROPERTIES LABELS parse TIMEOUT 120 ENVIRONMENT "${environment}")
	endforeach()
	add_test(NAME unit/doctest COMMAND ${doctest} --self-test)
	set_tests_properties(unit/doctest PROPERTIES LABELS unit TIMEOUT 60)
endif()
