# Installed files, packages and the Python package. Not with sanitizers, which would find nothing new here.

if(TARGET hirc AND Python3_FOUND AND HIRC_SANITIZE STREQUAL "none")
	foreach(part install deb tgz)
		add_test(NAME package/${part} COMMAND ${Python3_EXECUTABLE} ${CMAKE_CURRENT_SOURCE_DIR}/package/packages.py
			${PROJECT_BINARY_DIR} ${CMAKE_COMMAND} ${CMAKE_CPACK_COMMAND} ${part})
		set_tests_properties(package/${part} PROPERTIES LABELS run TIMEOUT 300 RUN_SERIAL ON SKIP_RETURN_CODE 77
			ENVIRONMENT "${environment}")
	endforeach()
	foreach(part source wheel symbols)
		add_test(NAME python/${part} COMMAND ${Python3_EXECUTABLE} ${CMAKE_CURRENT_SOURCE_DIR}/python/package.py
			$<TARGET_FILE:hirc> ${PROJECT_BINARY_DIR} ${CMAKE_COMMAND} ${part})
		set_tests_properties(python/${part} PROPERTIES LABELS run TIMEOUT 600 RUN_SERIAL ON SKIP_RETURN_CODE 77
			ENVIRONMENT "${environment}")
	endforeach()
	foreach(part schedule step) # skipped unless HIRC_TORCH_PYTHON names a Python with torch
		add_test(NAME python/torch_${part} COMMAND ${Python3_EXECUTABLE}
			${CMAKE_CURRENT_SOURCE_DIR}/python/torch_${part}.py $<TARGET_FILE:hirc>)
		set_tests_properties(python/torch_${part} PROPERTIES LABELS nightly TIMEOUT 7200 RUN_SERIAL ON
			SKIP_RETURN_CODE 77 ENVIRONMENT "${environment}")
	endforeach()
	if(TARGET mock_cuda)
		set_property(TEST python/source APPEND PROPERTY ENVIRONMENT HIRC_TEST_MOCK=${HIRC_MOCK_FOLDER} HIRC_CACHE=off)
	endif()
endif()
