# hirc lsp: its command line, and a client that speaks the protocol; tools/editors: that they know all words.

if(TARGET hirc AND Python3_FOUND)
	golden(lsp parse 60)
endif()
if(TARGET hirc_lsp AND TARGET hirc AND Python3_FOUND)
	set(client ${launcher} ${Python3_EXECUTABLE} ${CMAKE_CURRENT_SOURCE_DIR}/lsp/test_lsp.py $<TARGET_FILE:hirc>)
	add_test(NAME lsp/features COMMAND ${client})
	add_test(NAME lsp/random_edits COMMAND ${client} random_edits)
	add_test(NAME lsp/large COMMAND ${client} large)
	add_test(NAME bench/lsp COMMAND ${client} bench CONFIGURATIONS Bench Stress)
	set_tests_properties(lsp/features lsp/random_edits lsp/large PROPERTIES LABELS parse TIMEOUT 240
		ENVIRONMENT "${environment}")
	add_test(NAME lsp/editors COMMAND ${launcher} ${Python3_EXECUTABLE} ${CMAKE_CURRENT_SOURCE_DIR}/lsp/editors.py
		$<TARGET_FILE:hirc>)
	set_tests_properties(lsp/editors PROPERTIES LABELS parse TIMEOUT 120 ENVIRONMENT "${environment}")
	set_tests_properties(bench/lsp PROPERTIES LABELS bench TIMEOUT 240 RUN_SERIAL ON ENVIRONMENT "${environment}")
endif()
