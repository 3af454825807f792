/* html: the page around a report. Nothing in it is fetched, and nothing runs: it is text, a style sheet and
 * pictures, light or dark as the reader's system is. What is wider than the window scrolls in a box of its
 * own or is broken, so that the page never scrolls sideways. */
#include "report/html.h"
#include "base/arena.h"
#include "draw/svg.h"
#include <stdlib.h>

static const char colours_light[] =
    "--bg:#fff;--fg:#1c2430;--dim:#5b6675;--line:#d5dae1;--cell:#f6f7f9;"
    "--link:#1f5fb0;--add:#e4f6e6;--del:#fdeae8;--adds:#b4e6ba;--dels:#f9c4be;"
    "--alarm:#b3261e;--good:#1e6b2c;--tk:#7b2fa6;--tt:#0b626b;--tf:#1b559e;"
    "--tn:#8a4200;--ts:#2c6320;--tc:#56616f;";
static const char colours_dark[] = "--bg:#12161c;--fg:#e6ebf2;--dim:#9aa6b5;--line:#333c48;--cell:#1c222b;"
                                   "--link:#7db4ff;--add:#14301c;--del:#3b1d1c;--adds:#22582f;--dels:#6f2d29;"
                                   "--alarm:#ff8a80;--good:#7fd492;--tk:#d5a8f7;--tt:#74d6df;--tf:#95c5ff;"
                                   "--tn:#f3b880;--ts:#aadb94;--tc:#a3aebc;";

/* Screens above a width of 900 pixels have pictures and texts side by side, below it one after the other. */
static const char style[] =
    "*{box-sizing:border-box}"
    "html{scroll-behavior:smooth}"
    "body{margin:0 auto;max-width:1320px;padding:16px;background:var(--bg);color:var(--fg);"
    "font:15px/1.5 system-ui,-apple-system,'Segoe UI',Roboto,sans-serif}"
    "h1{font-size:24px;margin:0 0 4px;overflow-wrap:anywhere}"
    "h2{font-size:19px;margin:40px 0 10px;padding-bottom:4px;border-bottom:1px solid var(--line)}"
    "h3{font-size:15px;margin:22px 0 6px;overflow-wrap:anywhere}"
    "p{margin:6px 0;overflow-wrap:anywhere}"
    "a{color:var(--link);text-decoration:none}a:hover{text-decoration:underline}"
    "code,pre,.code{font:12.5px/1.5 ui-monospace,Menlo,Consolas,'DejaVu Sans Mono',monospace}"
    "code{overflow-wrap:anywhere}"
    "nav ul{display:flex;flex-wrap:wrap;gap:4px 18px;margin:12px 0 0;padding:0;list-style:none}"
    ".note{color:var(--dim)}.good{color:var(--good)}.bad{color:var(--alarm)}"
    ".tiles{display:grid;grid-template-columns:repeat(auto-fit,minmax(168px,1fr));gap:10px;margin:12px 0}"
    ".tiles div{background:var(--cell);border:1px solid var(--line);border-radius:6px;padding:8px 12px}"
    ".tiles b{display:block;font-size:18px;overflow-wrap:anywhere}"
    ".tiles span{color:var(--dim);font-size:13px}"
    "dl{display:grid;grid-template-columns:max-content minmax(0,1fr);gap:3px 18px;margin:12px 0}"
    "dt{color:var(--dim)}dd{margin:0;overflow-wrap:anywhere}"
    ".box{overflow-x:auto;border:1px solid var(--line);border-radius:6px;margin:8px 0}"
    "pre{margin:0;padding:10px 12px}"
    "pre.wrap{white-space:pre-wrap;overflow-wrap:anywhere}"
    "table{border-collapse:collapse;width:100%}"
    ".list th,.list td{padding:4px 12px;text-align:left;vertical-align:top;border-bottom:1px solid "
    "var(--line)}"
    ".list tr:last-child td{border-bottom:0}"
    ".list th{color:var(--dim);font-weight:normal;background:var(--cell);white-space:nowrap}"
    ".list .num{text-align:right;white-space:nowrap;font-variant-numeric:tabular-nums}"
    ".list .text{min-width:210px;overflow-wrap:anywhere}"
    "details{margin:8px 0}summary{cursor:pointer;padding:4px 0;overflow-wrap:anywhere}"
    "summary b{margin-right:8px}"
    "figure{margin:8px 0;overflow-x:auto;border:1px solid var(--line);border-radius:6px;padding:4px}"
    "figure svg{display:block;max-width:100%;height:auto}"
    ".small{display:flex;flex-wrap:wrap;gap:8px;align-items:flex-start}.small>*{max-width:100%;margin:0}"
    ".source td,.diff td{vertical-align:top;padding:0 8px;white-space:pre-wrap;overflow-wrap:anywhere}"
    ".diff{table-layout:fixed}.diff td:not(.no){padding-left:22px;text-indent:-14px}"
    ".source{table-layout:fixed}.source .no{width:56px}.diff .no{width:48px}"
    "td.no{color:var(--dim);text-align:right;user-select:none;white-space:nowrap;padding:0 6px 0 0}"
    ".source tr:target{background:var(--cell);outline:2px solid var(--link)}"
    ".source .said td.no{background:var(--cell);box-shadow:inset -3px 0 var(--link)}"
    ".said td.no a{font-weight:bold}"
    ".diff .gap td:not(.no){text-indent:0;padding:2px}.diff .gap "
    "td{color:var(--dim);background:var(--cell);text-align:center;padding:2px}"
    ".diff .del{background:var(--del)}.diff .add{background:var(--add)}.diff .none{background:var(--cell)}"
    "mark{color:inherit;border-radius:2px}.del mark{background:var(--dels)}.add mark{background:var(--adds)}"
    ".tk{color:var(--tk)}.tt{color:var(--tt)}.tf{color:var(--tf)}.tn{color:var(--tn)}.ts{color:var(--ts)}"
    ".tc{color:var(--tc)}"
    "footer{margin-top:40px;padding-top:8px;border-top:1px solid var(--line);color:var(--dim);font-size:13px}"
    "@media(max-width:900px){figure svg{max-width:none!important}"
    ".diff,.diff tbody,.diff tr,.diff td{display:block}.diff colgroup{display:none}"
    ".diff td.no,.diff .none,.diff tr.same td.second{display:none}"
    ".diff td:not(.no){padding-left:18px;text-indent:-10px}.diff .gap td{text-indent:0}"
    ".diff tr.same td:not(.second):not(.no)::before{content:'\\00a0\\00a0'}"
    ".diff .del::before{content:'\\2212\\00a0'}.diff .add::before{content:'+\\00a0'}}"
    "@media(max-width:600px){body{padding:12px}dl{grid-template-columns:minmax(0,1fr);gap:0}"
    "dd{margin-bottom:6px}h1{font-size:20px}.tiles{grid-template-columns:repeat(2,minmax(0,1fr))}"
    ".list{font-size:13px}.list th,.list td{padding:4px 8px}.source .no{width:44px}}"
    "@media print{body{max-width:none;padding:0;font-size:11px}nav{display:none}"
    ".box,figure{overflow:visible}figure,tr{break-inside:avoid}h2,h3{break-after:avoid}"
    "figure svg{max-width:100%}a{color:inherit}"
    "*{print-color-adjust:exact;-webkit-print-color-adjust:exact}}";

void html_put(struct buf *out, const char *text)
{
	svg_put_text(out, text, strlen(text));
}

void html_printf(struct buf *out, const char *format, ...)
{
	struct buf text = {0};
	va_list args;
	va_start(args, format);
	buf_vprintf(&text, format, args);
	va_end(args);
	svg_put_text(out, text.at, text.n);
	buf_free(&text);
}

void html_put_time(struct buf *out, int64_t ns)
{
	bool small = ns < 10000000;
	buf_printf(out, "%.3f %s", (double)ns / (small ? 1e3 : 1e6), small ? "us" : "ms");
}

void html_put_bytes(struct buf *out, int64_t bytes)
{
	static const char *const unit[] = {"B", "KiB", "MiB", "GiB", "TiB"};
	double n = (double)bytes;
	unsigned k = 0;
	for (; k < 4 && n >= 1024; k++)
		n /= 1024;
	buf_printf(out, k ? "%.3f %s" : "%.0f %s", n, unit[k]);
}

void html_put_percent(struct buf *out, int64_t part, int64_t whole)
{
	buf_printf(out, "%.1f %%", whole ? 100 * (double)part / (double)whole : 0);
}

void html_begin(struct buf *out, const char *title)
{
	buf_puts(out, "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
	              "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
	              "<meta name=\"color-scheme\" content=\"light dark\">\n<title>");
	html_put(out, title);
	buf_printf(out, "</title>\n<style>\n:root{color-scheme:light dark;%s}\n", colours_light);
	buf_printf(out, "@media screen and (prefers-color-scheme:dark){:root{%s}}\n%s\n", colours_dark,
	           style);
	buf_printf(out, "%s\n@media screen and (prefers-color-scheme:dark){%s}\n</style>\n</head>\n<body>\n",
	           svg_style(false), svg_style(true));
}

void html_end(struct buf *out)
{
	buf_puts(out, "</body>\n</html>\n");
}

void html_section(struct buf *out, const char *id, const char *title)
{
	buf_printf(out, "<section id=\"%s\">\n<h2>", id);
	html_put(out, title);
	buf_puts(out, "</h2>\n");
}

void html_note(struct buf *out, const char *text)
{
	buf_puts(out, "<p class=\"note\">");
	html_put(out, text);
	buf_puts(out, "</p>\n");
}

void html_figure(struct buf *out, struct buf *picture)
{
	buf_puts(out, "<figure>");
	svg_put_inside(picture, out);
	buf_puts(out, "</figure>\n");
	buf_free(picture);
}
