# Examples of README and man pages, run by tools/doctest, which also checks what the pages list.

if(TARGET hirc AND Python3_FOUND)
	set(doctest ${launcher} ${Python3_EXECUTABLE} ${PROJECT_SOURCE_DIR}/tools/doctest)
	file(GLOB pages RELATIVE ${PROJECT_SOURCE_DIR} CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/man/*.[1-9])
	foreach(page README.md ${pages})
		string(REGEX REPLACE "^.*/|\\.md$" "" name ${page})
		add_test(NAME doc/${name} COMMAND ${doctest} --hirc $<TARGET_FILE:hirc> ${PROJECT_SOURCE_DIR}/${page})
		set_tests_properties(doc/${name} PROPERTIES LABELS parse TIMEOUT 120 ENVIRONMENT "${environment}")
	endforeach()
	add_test(NAME unit/doctest COMMAND ${doctest} --self-test)
	set_tests_properties(unit/doctest PROPERTIES LABELS unit TIMEOUT 60)
endif()
