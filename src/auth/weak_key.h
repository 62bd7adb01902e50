// Checks for public keys with which anybody can forge signatures. OpenSSL accepts such keys.
#pragma once

#include <openssl/evp.h>

#include "base/status.h"

namespace agent_graph::auth {

// kInvalidArgument: an RSA key whose public exponent is even, below 3 or not below the modulus, or
// whose modulus is easy to factor: a prime, a power of a prime, or a multiple of a small prime.
// With exponent 1 the padded message is its own signature. Also a key that is too large for OpenSSL
// to verify with.
Status CheckRsaStrength(EVP_PKEY* key);

// kInvalidArgument: an Ed25519 or Ed448 key that is a point of small order. For such a key one
// signature is valid for many or all messages.
Status CheckEdwardsStrength(EVP_PKEY* key);

}  // namespace agent_graph::auth
