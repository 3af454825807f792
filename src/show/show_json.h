/* show_json: pictures as JSON: the objects of `hirc show --json`, see man/hirc-show.1. */
#ifndef HIRC_SHOW_SHOW_JSON_H
#define HIRC_SHOW_SHOW_JSON_H
#include "show/graph.h"
#include "show/show_layout.h"
#include "show/show_steps.h"

void layout_picture_json(const struct layout_picture *p, struct buf *out);
void steps_picture_json(const struct steps_picture *p, struct buf *out);
void graph_picture_json(const struct graph_picture *p, struct buf *out);

#endif
