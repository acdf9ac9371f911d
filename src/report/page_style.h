/* page_style.h - the style sheet and script that every page contains */
#ifndef RF_REPORT_PAGE_STYLE_H
#define RF_REPORT_PAGE_STYLE_H

#include "report/html.h"

void rf_page_style(rf_page *p);
void rf_page_script(rf_page *p);

#endif
