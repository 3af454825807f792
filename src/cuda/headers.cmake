# CUDA's headers, of version 13: a toolkit's, or those in NVIDIA's wheels on PyPI. Libraries are opened at run time.
#
#     HIRC_CUDA_FOUND          all headers are there:
#     HIRC_CUDA_INCLUDE_DIRS   in these folders
#     HIRC_CUDA_MISSING        why they are not, as text
#     HIRC_NVRTC_LIBRARY       what compiles kernels, for a test of those; or NOTFOUND
set(HIRC_CUDA_WHEELS "" CACHE PATH "Folder with NVIDIA's wheels for CUDA 13, as `pip install --target` makes one; empty: \
those that Python3 has, if there is no toolkit")
set(HIRC_CUDA_FOUND FALSE)
unset(HIRC_CUDA_INCLUDE_DIRS)
if(NOT HIRC_CUDA)
	set(HIRC_CUDA_MISSING "it was configured with -DHIRC_CUDA=OFF")
	return()
endif()

# Each header, and the wheel that it is in.
set(headers
	cuda.h nvidia-cuda-runtime~=13.0
	crt/host_defines.h nvidia-cuda-crt~=13.0
	nv/target nvidia-cuda-cccl~=13.0
	cublasLt.h nvidia-cublas~=13.0
	nvrtc.h nvidia-cuda-nvrtc~=13.0
	nccl.h nvidia-nccl-cu13)

unset(first)
unset(last)
if(HIRC_CUDA_WHEELS)
	if(NOT IS_DIRECTORY ${HIRC_CUDA_WHEELS}/nvidia)
		message(FATAL_ERROR "HIRC_CUDA_WHEELS is ${HIRC_CUDA_WHEELS}: there is no folder nvidia in it. "
			"`pip install --target DIR nvidia-cuda-runtime~=13.0` makes one in DIR")
	endif()
	set(first ${HIRC_CUDA_WHEELS}/nvidia/cu13 ${HIRC_CUDA_WHEELS}/nvidia/nccl)
elseif(Python3_FOUND)
	execute_process(COMMAND ${Python3_EXECUTABLE} -c "import nvidia; print(*nvidia.__path__, sep=';')"
		OUTPUT_VARIABLE folders OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
	foreach(folder IN LISTS folders)
		list(APPEND last ${folder}/cu13 ${folder}/nccl)
	endforeach()
endif()
set(where HINTS ${first} ENV CUDA_HOME ENV CUDA_PATH PATHS /usr/local/cuda ${last})

unset(absent)
unset(wheels)
while(headers)
	list(POP_FRONT headers header wheel)
	get_filename_component(folder ${header} NAME_WE)
	set(folder CUDA_${folder}_INCLUDE_DIR)
	find_path(${folder} ${header} ${where} PATH_SUFFIXES include include/cccl)
	mark_as_advanced(${folder})
	if(${folder})
		list(APPEND HIRC_CUDA_INCLUDE_DIRS ${${folder}})
	else()
		list(APPEND absent ${header})
		string(APPEND wheels " ${wheel}")
	endif()
endwhile()
list(REMOVE_DUPLICATES HIRC_CUDA_INCLUDE_DIRS)

if(absent)
	list(JOIN absent ", " absent)
	set(HIRC_CUDA_MISSING "there is no ${absent}. The CUDA toolkit 13 and NCCL have them, and so have wheels: pip install\
${wheels}  (with --target DIR: configure with -DHIRC_CUDA_WHEELS=DIR)")
else()
	file(STRINGS ${CUDA_cuda_INCLUDE_DIR}/cuda.h version REGEX "^#define CUDA_VERSION [0-9]+")
	string(REGEX REPLACE "[^0-9]" "" version "${version}")
	if(version LESS 13000)
		set(HIRC_CUDA_MISSING "${CUDA_cuda_INCLUDE_DIR}/cuda.h is not of CUDA 13 (it has ${version}). CUDA_HOME names \
another toolkit, -DHIRC_CUDA_WHEELS=DIR a folder of wheels")
	else()
		file(STRINGS ${CUDA_nccl_INCLUDE_DIR}/nccl.h nccl REGEX "^#define NCCL_(MAJOR|MINOR) +[0-9]+")
		string(REGEX REPLACE "[^0-9;]" "" nccl "${nccl}")
		list(JOIN nccl "." nccl)
		if(nccl VERSION_LESS 2.28)
			set(HIRC_CUDA_MISSING "${CUDA_nccl_INCLUDE_DIR}/nccl.h is of NCCL ${nccl}: hirc needs the header of 2.28 or a newer \
one, and runs with older libraries. -DHIRC_CUDA_WHEELS=DIR names a folder of wheels")
		else()
			set(HIRC_CUDA_FOUND TRUE)
		endif()
	endif()
endif()

find_library(HIRC_NVRTC_LIBRARY libnvrtc.so.13 ${where} PATH_SUFFIXES lib64 lib)
mark_as_advanced(HIRC_NVRTC_LIBRARY)
