# Installs the files beside the program, and sets where the program finds libraries.
#
#     bin/hirc
#     lib/hirc/*.so*                      with HIRC_BUNDLE
#     share/man/man1, man5, ...
#     share/bash-completion/completions/hirc, share/zsh/site-functions/_hirc, share/fish/vendor_completions.d/hirc.fish
#     share/vim/vimfiles, share/nvim/site  files that Vim and Neovim load by themselves, below /usr and /usr/local
#     share/hirc/examples, share/hirc/editors
#     share/doc/hirc/README.md, LICENSE   and licences/, with HIRC_BUNDLE
#     share/doc/hirc/examples             a link to share/hirc/examples, for README's links
#
# The program reads none of these: the folder may be moved.

option(HIRC_BUNDLE "Install the shared libraries that hirc is linked with in lib/hirc beside it; not those of the C \
and C++ compilers, which every system has" OFF)

install(TARGETS hirc RUNTIME_DEPENDENCY_SET hirc_libraries RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
if(HIRC_BUNDLE)
	if(HIRC_BLAS_LIBRARY) # the program opens it, and is not linked with it
		file(REAL_PATH ${HIRC_BLAS_FOLDER}/${HIRC_BLAS_LIBRARY} blas)
		add_library(hirc_blas SHARED IMPORTED)
		set_target_properties(hirc_blas PROPERTIES IMPORTED_LOCATION ${blas})
		install(IMPORTED_RUNTIME_ARTIFACTS hirc_blas RUNTIME_DEPENDENCY_SET hirc_libraries LIBRARY DESTINATION lib/hirc)
		get_filename_component(blas ${blas} NAME)
		if(NOT blas STREQUAL HIRC_BLAS_LIBRARY)
			install(CODE "file(CREATE_LINK ${blas} \
\"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/lib/hirc/${HIRC_BLAS_LIBRARY}\" SYMBOLIC)")
		endif()
	endif()
	if(MPI_C_FOUND)
		message(FATAL_ERROR "HIRC_BUNDLE and MPI: the ranks of a job need the MPI of its launcher, which a copy is not. \
Configure with -DHIRC_MPI=OFF, or without HIRC_BUNDLE")
	endif()
	# What a platform of Python's manylinux has.
	set(system "^(ld-linux.*|linux-vdso|lib(c|m|dl|rt|pthread|gcc_s|stdc\\+\\+))\\.so")
	install(RUNTIME_DEPENDENCY_SET hirc_libraries
		PRE_EXCLUDE_REGEXES ${system}
		LIBRARY DESTINATION lib/hirc)
	install(SCRIPT tools/packaging/licences.cmake)
	# RPATH, not RUNPATH: the libraries find each other by it, too.
	target_link_options(hirc PRIVATE -Wl,--disable-new-dtags)
	set_target_properties(hirc PROPERTIES INSTALL_RPATH "$ORIGIN/../lib/hirc")
else()
	# Folders that the system's linker does not search, as those of an MPI in /opt.
	foreach(library ${MPI_C_LIBRARIES} ${HIRC_BLAS_FOLDER}/${HIRC_BLAS_LIBRARY} ${DNNL_LIBRARY} ${CJSON_LINK_LIBRARIES}
			${PROTOBUF_C_LINK_LIBRARIES} ${ZLIB_LIBRARIES})
		get_filename_component(folder "${library}" DIRECTORY)
		if(IS_ABSOLUTE "${folder}" AND NOT folder MATCHES "^(/usr)?/lib(32|64)?(/|$)")
			list(APPEND folders_of_libraries ${folder})
		endif()
	endforeach()
	list(REMOVE_DUPLICATES folders_of_libraries)
	set_target_properties(hirc PROPERTIES INSTALL_RPATH "${folders_of_libraries}")
endif()

if(NOT CMAKE_CROSSCOMPILING)
	# completions(shell folder file): what `hirc completions` prints, where the shell looks for it.
	function(completions shell folder file)
		set(script ${PROJECT_BINARY_DIR}/completions/${shell}/${file})
		file(MAKE_DIRECTORY ${PROJECT_BINARY_DIR}/completions/${shell})
		add_custom_command(OUTPUT ${script} COMMAND hirc completions ${shell} > ${script}
			DEPENDS hirc COMMENT "completions of ${shell}" VERBATIM)
		set_property(GLOBAL APPEND PROPERTY hirc_completions ${script})
		install(FILES ${script} DESTINATION ${CMAKE_INSTALL_DATADIR}/${folder})
	endfunction()
	completions(bash bash-completion/completions hirc)
	completions(zsh zsh/site-functions _hirc)
	completions(fish fish/vendor_completions.d hirc.fish)
	get_property(scripts GLOBAL PROPERTY hirc_completions)
	add_custom_target(completions ALL DEPENDS ${scripts})
endif()

foreach(section 1 5 7)
	file(GLOB pages CONFIGURE_DEPENDS man/*.${section})
	install(FILES ${pages} DESTINATION ${CMAKE_INSTALL_MANDIR}/man${section})
endforeach()
install(DIRECTORY examples DESTINATION ${CMAKE_INSTALL_DATADIR}/hirc)
install(DIRECTORY tools/editors DESTINATION ${CMAKE_INSTALL_DATADIR}/hirc PATTERN generate EXCLUDE)
foreach(folder vim/vimfiles nvim/site)
	install(DIRECTORY tools/editors/vim/ DESTINATION ${CMAKE_INSTALL_DATADIR}/${folder})
endforeach()
install(FILES README.md LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR})
# README's links to examples lead there from its new place, too.
file(RELATIVE_PATH examples ${CMAKE_INSTALL_FULL_DOCDIR} ${CMAKE_INSTALL_FULL_DATADIR}/hirc/examples)
install(CODE "file(CREATE_LINK \"${examples}\" \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_DOCDIR}/examples\" SYMBOLIC)")
