/* store_routes.c - the endpoints that need --store, as described in docs/SERVE.md */
#include "service.h"

#define JSON "application/json"

bool store_is_there(exchange *x, struct MHD_Connection *c, enum MHD_Result *result)
{
    problem p;
    if (x->service->store)
        return true;
    problem_set(&p, 404, "no_store", "the service keeps no texts; start it with --store");
    *result = reply_problem(x, c, &p);
    return false;
}

enum MHD_Result answer_drift(exchange *x, struct MHD_Connection *c)
{
    enum MHD_Result result;
    rf_text t;
    if (!store_is_there(x, c, &result))
        return result;
    rf_text_init(&t, REPLY_MAX, "a drift report");
    recorder_write_drift(x->service->store, &t);
    return reply_text(x, c, JSON, &t);
}
