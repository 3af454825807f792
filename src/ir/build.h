/* build: makes values and statements.
 *
 * A new statement is in no region; ir_append or ir_insert_* places it. */
#ifndef HIRC_IR_BUILD_H
#define HIRC_IR_BUILD_H
#include "ir/ir.h"

mesh_id
ir_mesh_add(struct module *m,
            const struct mesh *mesh); /* copies the device list; equal meshes of one name are interned */
group_id ir_group_add(struct module *m, name_id name, uint32_t size, team_id members, uint32_t at);
param_id ir_param_add(struct module *m, name_id name, uint32_t at);
index_id ir_index_add(struct module *m, name_id name);
handle_id ir_handle_add(struct module *m, name_id name);
scalar_id ir_scalar_expr(struct module *m, expr_id e);
scalar_id ir_scalar_literal(struct module *m, double v);
attrs_id ir_attrs(struct module *m, const struct attr *at,
                  unsigned n); /* copies the list; returns 0 if n is 0 */
/* Returns attrs with one key added or replaced. */
attrs_id ir_attrs_with(struct module *m, attrs_id attrs, const struct attr *a);
attrs_id ir_attrs_without(struct module *m, attrs_id attrs, name_id key);
team_id ir_team_make(struct module *m, uint32_t slices, const uint32_t *start, const uint32_t *device);
/* Makes the team whose slices run along a set of mesh axes. Devices are in the order of `axes`,
 * outermost first; slices are sorted by their first position. */
team_id ir_team_of_mesh(struct module *m, mesh_id mesh, const uint8_t *axes, unsigned n);
/* Finds the axes along which a team's slices run, in placement order. Returns false if the team does not
 * belong to this mesh. */
bool ir_team_axes(struct module *m, team_id team, mesh_id mesh, uint8_t *axes, unsigned *n);

value_id ir_value_new(struct module *m, type_id type, name_id name, uint32_t at);

/* An operand of a new statement, in the order given at struct op; id by role. */
struct ir_use {
	enum role role;
	uint32_t id;
};
op_id ir_op_new(struct module *m, enum op_kind kind, uint32_t at, const struct ir_use *use, unsigned n);
void ir_append(struct module *m, region_id r, op_id op);
void ir_insert_before(struct module *m, op_id where, op_id op);
void ir_insert_after(struct module *m, op_id where, op_id op);
region_id ir_region_new(struct module *m,
                        op_id owner); /* the owner's first region, or the sibling of the first */

#endif
