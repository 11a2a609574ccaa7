/* The style and the script of report.html, which the Makefile makes from export/html. */
#ifndef EXPORT_HTML_ASSETS_H
#define EXPORT_HTML_ASSETS_H

extern const char html_style[], html_script[];

#endif
