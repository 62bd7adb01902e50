#include "auth/weak_key.h"

#include <openssl/bn.h>
#include <openssl/core_names.h>
#include <openssl/rsa.h>

#include <algorithm>
#include <array>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "auth/openssl_owned.h"
#include "base/hex.h"

namespace agent_graph::auth {
namespace {

Status Weak(const char* reason) {
  return Status(StatusCode::kInvalidArgument, reason);
}

// OpenSSL verifies no signature with a larger modulus.
constexpr int kRsaBitsMax = OPENSSL_RSA_MAX_MODULUS_BITS;

// The check of NIST SP 800-56B: no small factor, not a prime and not a power of a prime.
bool IsHardToFactor(EVP_PKEY* key) {
  Owned<EVP_PKEY_CTX> context(EVP_PKEY_CTX_new_from_pkey(nullptr, key, nullptr));
  return context != nullptr && EVP_PKEY_public_check(context.get()) == 1;
}

Owned<BIGNUM> Parameter(EVP_PKEY* key, const char* name) {
  BIGNUM* number = nullptr;
  EVP_PKEY_get_bn_param(key, name, &number);
  return Owned<BIGNUM>(number);
}

// Encoded points of order 1, 2, 4 and 8 without their sign bit, including forms whose y is not
// reduced modulo the prime of the field.
constexpr std::string_view kSmallOrder25519[] = {
    "0000000000000000000000000000000000000000000000000000000000000000",
    "0100000000000000000000000000000000000000000000000000000000000000",
    "26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05",
    "c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a",
    "ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
    "edffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
    "eeffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
};
constexpr std::string_view kSmallOrder448[] = {
    ("0000000000000000000000000000000000000000000000000000000000"
     "00000000000000000000000000000000000000000000000000000000"),
    ("0100000000000000000000000000000000000000000000000000000000"
     "00000000000000000000000000000000000000000000000000000000"),
    ("fefffffffffffffffffffffffffffffffffffffffffffffffffffffffe"
     "ffffffffffffffffffffffffffffffffffffffffffffffffffffff00"),
    ("fffffffffffffffffffffffffffffffffffffffffffffffffffffffffe"
     "ffffffffffffffffffffffffffffffffffffffffffffffffffffff00"),
    ("00000000000000000000000000000000000000000000000000000000ff"
     "ffffffffffffffffffffffffffffffffffffffffffffffffffffff00"),
};

bool Contains(std::span<const std::string_view> points, const std::string& point) {
  return std::ranges::find(points, point) != points.end();
}

}  // namespace

Status CheckRsaStrength(EVP_PKEY* key) {
  Owned<BIGNUM> modulus = Parameter(key, OSSL_PKEY_PARAM_RSA_N);
  Owned<BIGNUM> exponent = Parameter(key, OSSL_PKEY_PARAM_RSA_E);
  if (modulus == nullptr || !BN_is_odd(modulus.get())) return Weak("is an RSA key with an even n");
  if (exponent == nullptr || !BN_is_odd(exponent.get()) || BN_is_one(exponent.get())) {
    return Weak("is an RSA key whose exponent e is not an odd number of 3 or more");
  }
  if (BN_cmp(exponent.get(), modulus.get()) >= 0) {
    return Weak("is an RSA key whose exponent e is not below n");
  }
  if (BN_num_bits(modulus.get()) > kRsaBitsMax) return Weak("is an RSA key that is too large");
  if (!IsHardToFactor(key)) return Weak("is an RSA key whose n is easy to factor");
  return Status::Ok();
}

Status CheckEdwardsStrength(EVP_PKEY* key) {
  std::array<unsigned char, 64> point{};
  size_t length = point.size();
  if (EVP_PKEY_get_raw_public_key(key, point.data(), &length) != 1 || length == 0) {
    return Weak("is a key without its public part");
  }
  point[length - 1] &= 0x7f;
  const std::string hex = Hex(point.data(), length);
  if (Contains(kSmallOrder25519, hex) || Contains(kSmallOrder448, hex)) {
    return Weak("is a point of small order, for which anybody can forge signatures");
  }
  return Status::Ok();
}

}  // namespace agent_graph::auth
