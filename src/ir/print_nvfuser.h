/* print_nvfuser: what the files that print the nvFuser surface share. */
#ifndef HIRC_IR_PRINT_NVFUSER_H
#define HIRC_IR_PRINT_NVFUSER_H
#include "ir/print_order.h"

struct nvfuser {
	struct module *m;
	struct buf *out;
	struct print_order order;
};

void nvfuser_tensor(struct nvfuser *p, value_id v);
void nvfuser_axis(struct nvfuser *p, value_id v, unsigned axis);
void nvfuser_name(struct nvfuser *p, name_id name);
void nvfuser_attr(struct nvfuser *p, const struct attr *a); /* key=value */
/* The sections after the container. */
void nvfuser_sections(struct nvfuser *p);

/* Names that a mesh has when no declaration states them: mesh0, mesh1, …; (x), (y, x), (z, y, x), …. */
void nvfuser_default_mesh_name(unsigned k, struct buf *out);
void nvfuser_default_axis_name(unsigned rank, unsigned axis, struct buf *out);

#endif
