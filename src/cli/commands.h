/* commands: the entry of each command; argv[0] is the command's name. They return exit codes. */
#ifndef HIRC_CLI_COMMANDS_H
#define HIRC_CLI_COMMANDS_H

int cmd_compile(int argc, char **argv);
int cmd_run(int argc, char **argv);
int cmd_check(int argc, char **argv);
int cmd_fmt(int argc, char **argv);
int cmd_tune(int argc, char **argv);
int cmd_sim(int argc, char **argv);
int cmd_import(int argc, char **argv);
int cmd_bench(int argc, char **argv);
int cmd_test(int argc, char **argv);

#endif
