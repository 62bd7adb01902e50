// Checks for public keys with which anybody can forge signatures. OpenSSL accepts such keys.
#pragma once

#include <openssl/evp.h>

#include "base/status.h"

namespace agent_graph::auth {

// kInvalidArgument: an RSA key whose modulus is even, or whose public exponent is even or below 3.
// With exponent 1 the padded message is its own signature.
Status CheckRsaStrength(EVP_PKEY* key);

// kInvalidArgument: an Ed25519 or Ed448 key that is a point of small order. For such a key one
// signature is valid for many or all messages.
Status CheckEdwardsStrength(EVP_PKEY* key);

}  // namespace agent_graph::auth
