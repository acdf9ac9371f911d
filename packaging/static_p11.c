/* static_p11.c - stands in for p11-kit in the static program (make static)
 *
 * GnuTLS asks p11-kit for keys in hardware and for the system's list of authorities.
 * p11-kit loads libraries to answer, which a static program cannot do, so there is no
 * static p11-kit. The service reads its key and certificate from files and never asks. If
 * anything did: no module, no object, no memory for one, which GnuTLS reports as an
 * error.
 */
#include <stddef.h>

#define ABSENT(name)                                                                     \
    void *name(void);                                                                    \
    void *name(void)                                                                     \
    {                                                                                    \
        return NULL;                                                                     \
    }

ABSENT(p11_kit_config_option)
ABSENT(p11_kit_message)
ABSENT(p11_kit_module_finalize)
ABSENT(p11_kit_module_get_flags)
ABSENT(p11_kit_module_get_name)
ABSENT(p11_kit_module_load)
ABSENT(p11_kit_module_release)
ABSENT(p11_kit_modules_load)
ABSENT(p11_kit_pin_file_callback)
ABSENT(p11_kit_pin_get_length)
ABSENT(p11_kit_pin_get_value)
ABSENT(p11_kit_pin_new_for_string)
ABSENT(p11_kit_pin_register_callback)
ABSENT(p11_kit_pin_request)
ABSENT(p11_kit_pin_unref)
ABSENT(p11_kit_pin_unregister_callback)
ABSENT(p11_kit_space_strdup)
ABSENT(p11_kit_space_strlen)
ABSENT(p11_kit_strerror)
ABSENT(p11_kit_uri_format)
ABSENT(p11_kit_uri_free)
ABSENT(p11_kit_uri_get_attribute)
ABSENT(p11_kit_uri_get_attributes)
ABSENT(p11_kit_uri_get_module_info)
ABSENT(p11_kit_uri_get_pin_source)
ABSENT(p11_kit_uri_get_pin_value)
ABSENT(p11_kit_uri_get_token_info)
ABSENT(p11_kit_uri_match_module_info)
ABSENT(p11_kit_uri_match_token_info)
ABSENT(p11_kit_uri_new)
ABSENT(p11_kit_uri_parse)
ABSENT(p11_kit_uri_set_attribute)
