# Packages made by CPack: `cpack -G DEB`, for the Debian of the build, and `cpack -G TGZ`, a folder that works
# anywhere. tools/package configures for both, and calls CPack.

set(CPACK_GENERATOR TGZ)
set(CPACK_PACKAGE_NAME hirc)
set(CPACK_PACKAGE_VENDOR "the hirc authors")
set(HIRC_MAINTAINER "the hirc authors <hirc@localhost>" CACHE STRING "Whom packages name for questions: a name <and address>")
set(CPACK_PACKAGE_CONTACT ${HIRC_MAINTAINER})
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "${PROJECT_DESCRIPTION}")
set(CPACK_RESOURCE_FILE_LICENSE ${PROJECT_SOURCE_DIR}/LICENSE)
set(CPACK_PACKAGE_FILE_NAME hirc-${PROJECT_VERSION}-linux-${CMAKE_SYSTEM_PROCESSOR})
set(CPACK_PACKAGE_DIRECTORY ${PROJECT_BINARY_DIR}/packages)
set(CPACK_VERBATIM_VARIABLES ON)
set(CPACK_STRIP_FILES ON)
set(CPACK_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ
	WORLD_EXECUTE)
set(CPACK_PRE_BUILD_SCRIPTS ${PROJECT_SOURCE_DIR}/tools/packaging/debian.cmake)

set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION science)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
set(CPACK_DEBIAN_PACKAGE_DESCRIPTION "\
hirc says which tensors of a distributed program live where on which mesh of
devices, which collectives move them, and which streams and loops overlap
that with compute. It checks and simulates programs, chooses their overlap,
and runs them on ranks: processes of one machine, or those of an MPI job.
.
GPUs of NVIDIA are used through libraries that are opened when a program
asks for one.")
if(HIRC_BLAS_LIBRARY) # the program is not linked with it, so dpkg-shlibdeps does not see it
	file(REAL_PATH ${HIRC_BLAS_FOLDER}/${HIRC_BLAS_LIBRARY} blas)
	execute_process(COMMAND dpkg-query -S ${blas} OUTPUT_VARIABLE package RESULT_VARIABLE absent ERROR_QUIET)
	if(NOT absent)
		# libopenblas0-pthread, or another that has the same library
		string(REGEX REPLACE "(-pthread|-openmp|-serial)?[:,].*" "" CPACK_DEBIAN_PACKAGE_DEPENDS "${package}")
	endif()
endif()
if(MPI_C_FOUND)
	set(CPACK_DEBIAN_PACKAGE_RECOMMENDS openmpi-bin)
endif()
set(CPACK_DEBIAN_PACKAGE_SUGGESTS "python3-numpy")
if(TARGET hirc_cuda)
	string(APPEND CPACK_DEBIAN_PACKAGE_SUGGESTS ", libcuda1, libnccl2")
endif()
include(CPack)
