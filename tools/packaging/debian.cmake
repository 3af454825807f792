# Changes the files of `cmake --install` where Debian has other places or forms; CPack runs this before it makes a package.
if(NOT CPACK_GENERATOR STREQUAL "DEB")
	return()
endif()
set(usr ${CPACK_TEMPORARY_INSTALL_DIRECTORY}/usr)
set(documents ${usr}/share/doc/hirc)

file(MAKE_DIRECTORY ${usr}/share/zsh)
file(RENAME ${usr}/share/zsh/site-functions ${usr}/share/zsh/vendor-completions)
file(RENAME ${documents}/LICENSE ${documents}/copyright)
string(TIMESTAMP date "%a, %d %b %Y %H:%M:%S +0000" UTC) # SOURCE_DATE_EPOCH, if there is one
file(WRITE ${documents}/changelog
	"hirc (${CPACK_PACKAGE_VERSION}) stable; urgency=medium\n\n  * This version.\n\n -- ${CPACK_PACKAGE_CONTACT}  ${date}\n")
file(GLOB_RECURSE pages ${usr}/share/man/*.[1-9])
execute_process(COMMAND gzip -9n ${pages} ${documents}/changelog COMMAND_ERROR_IS_FATAL ANY)
