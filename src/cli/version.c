/* version: see version.h. */
#include "cli/version.h"

const char *version_text(void)
{
	return HIRC_VERSION;
}

const char *version_features(void)
{
	static const char all[] = ""
#ifdef HIRC_HAVE_MPI
	                          " mpi"
#endif
#ifdef HIRC_HAVE_BLAS
	                          " blas"
#endif
#ifdef HIRC_HAVE_ONEDNN
	                          " onednn"
#endif
#ifdef HIRC_HAVE_CUDA
	                          " cuda"
#endif
#ifdef HIRC_HAVE_NVTX
	                          " nvtx"
#endif
#ifdef HIRC_HAVE_CJSON
	                          " cjson"
#endif
#ifdef HIRC_HAVE_PROTOBUF
	                          " protobuf"
#endif
#ifdef HIRC_HAVE_ZLIB
	                          " zlib"
#endif
	    ;
	return all + (all[0] == ' ');
}

void version_put(struct buf *out)
{
	buf_printf(out, "hirc %s\nfeatures: %s\n", version_text(), version_features());
}
