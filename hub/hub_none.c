/* hub_none.c - in place of the client where libcurl was missing when the program was
 * built */
#include "hub_client.h"

hub_client *hub_client_open(const hub_options *options, rf_error *err)
{
    (void)options;
    rf_fail(err, RF_ERR_MISSING, 0,
            "this program was built without libcurl and cannot reach the Hugging Face "
            "hub; build it where libcurl is installed, or give --encoder a directory");
    return NULL;
}

void hub_client_close(hub_client *c)
{
    (void)c;
}

const rf_hub_transport *hub_client_transport(hub_client *c)
{
    (void)c;
    return NULL;
}
