/* status: exit codes of hirc; functions that can fail also return them. */
#ifndef HIRC_BASE_STATUS_H
#define HIRC_BASE_STATUS_H

enum status {
	STATUS_OK = 0,
	STATUS_DIAGNOSTICS = 1, /* the input is wrong; messages were printed */
	STATUS_USAGE = 2,       /* the command line is wrong, or there are too few ranks */
	STATUS_WRONG = 3,       /* wrong numbers */
	STATUS_STUCK = 4,       /* deadlock or timeout */
	STATUS_ABSENT = 5,      /* a backend that this build or machine lacks */
	STATUS_INTERNAL = 70,   /* a bug in hirc */
	STATUS_UNREAD =
	    141, /* the reader of standard output closed it: the code that a shell gives SIGPIPE */
};

#endif
