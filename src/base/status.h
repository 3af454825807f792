/* status: exit codes of the program; functions that can fail return them as well. */
#ifndef HIRC_BASE_STATUS_H
#define HIRC_BASE_STATUS_H

enum status {
	STATUS_OK = 0,
	STATUS_DIAGNOSTICS = 1, /* the input is at fault; messages were printed */
	STATUS_USAGE = 2,       /* the command line is at fault, or there are too few ranks */
	STATUS_WRONG = 3,       /* wrong numbers */
	STATUS_STUCK = 4,       /* deadlock or timeout */
	STATUS_ABSENT = 5,      /* a backend that this build or machine lacks */
	STATUS_INTERNAL = 70,   /* a bug in hirc */
	STATUS_UNREAD = 141,    /* the reader of standard output has left: as if SIGPIPE had ended hirc */
};

#endif
