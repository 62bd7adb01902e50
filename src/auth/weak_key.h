// Public keys for which anybody can make signatures. OpenSSL reads them without complaint.
#pragma once

#include <openssl/evp.h>

#include "base/status.h"

namespace agent_graph::auth {

// kInvalidArgument for an RSA key whose modulus is even or whose public exponent is even or
// below 3. With an exponent of 1 the padded message is its own signature.
Status CheckRsaStrength(EVP_PKEY* key);

// kInvalidArgument for an Ed25519 or Ed448 key that is a point of small order. One signature then
// fits a good part of all messages, or all.
Status CheckEdwardsStrength(EVP_PKEY* key);

}  // namespace agent_graph::auth
