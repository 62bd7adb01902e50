// JSON Web Key Sets (RFC 7517).
#include <openssl/core_names.h>
#include <openssl/param_build.h>

#include <algorithm>

#include "agent_graph/json.h"
#include "auth/base64url.h"
#include "auth/jwt_key.h"
#include "auth/openssl_owned.h"
#include "base/configuration_json.h"
#include "base/json.h"
#include "base/text.h"
#include "settings/short_secret.h"

namespace agent_graph::auth {
namespace {

constexpr size_t kShownIdBytesMax = 64;

std::string Text(const json& entry, const char* name) {
  auto member = entry.find(name);
  return member != entry.end() && member->is_string() ? member->get<std::string>() : std::string();
}

std::string Decoded(const json& entry, const char* name) {
  return DecodeBase64Url(Text(entry, name)).value_or("");
}

Owned<BIGNUM> Number(const std::string& bytes) {
  return Owned<BIGNUM>(BN_bin2bn(reinterpret_cast<const unsigned char*>(bytes.data()),
                                 static_cast<int>(bytes.size()), nullptr));
}

EVP_PKEY* MakeKey(const char* type, OSSL_PARAM_BLD* builder) {
  Owned<OSSL_PARAM> parameters(OSSL_PARAM_BLD_to_param(builder));
  Owned<EVP_PKEY_CTX> context(EVP_PKEY_CTX_new_from_name(nullptr, type, nullptr));
  EVP_PKEY* key = nullptr;
  if (parameters == nullptr || context == nullptr || EVP_PKEY_fromdata_init(context.get()) != 1 ||
      EVP_PKEY_fromdata(context.get(), &key, EVP_PKEY_PUBLIC_KEY, parameters.get()) != 1) {
    return nullptr;
  }
  return key;
}

EVP_PKEY* MakeRsaKey(const json& entry) {
  std::string n = Decoded(entry, "n");
  std::string e = Decoded(entry, "e");
  if (n.empty() || e.empty()) return nullptr;
  Owned<BIGNUM> modulus = Number(n);
  Owned<BIGNUM> exponent = Number(e);
  Owned<OSSL_PARAM_BLD> builder(OSSL_PARAM_BLD_new());
  if (builder == nullptr ||
      OSSL_PARAM_BLD_push_BN(builder.get(), OSSL_PKEY_PARAM_RSA_N, modulus.get()) != 1 ||
      OSSL_PARAM_BLD_push_BN(builder.get(), OSSL_PKEY_PARAM_RSA_E, exponent.get()) != 1) {
    return nullptr;
  }
  return MakeKey("RSA", builder.get());
}

EVP_PKEY* MakeEcKey(const JwtAlgorithm& algorithm, const json& entry) {
  std::string x = Decoded(entry, "x");
  std::string y = Decoded(entry, "y");
  if (x.size() != algorithm.coordinate_bytes || y.size() != algorithm.coordinate_bytes) {
    return nullptr;
  }
  std::string point = "\x04" + x + y;  // uncompressed point of SEC 1
  Owned<OSSL_PARAM_BLD> builder(OSSL_PARAM_BLD_new());
  if (builder == nullptr ||
      OSSL_PARAM_BLD_push_utf8_string(builder.get(), OSSL_PKEY_PARAM_GROUP_NAME, algorithm.curve,
                                      0) != 1 ||
      OSSL_PARAM_BLD_push_octet_string(builder.get(), OSSL_PKEY_PARAM_PUB_KEY, point.data(),
                                       point.size()) != 1) {
    return nullptr;
  }
  return MakeKey("EC", builder.get());
}

EVP_PKEY* MakeEdKey(const json& entry) {
  std::string x = Decoded(entry, "x");
  const char* type = Text(entry, "crv") == "Ed448" ? "ED448" : "ED25519";
  return EVP_PKEY_new_raw_public_key_ex(nullptr, type, nullptr,
                                        reinterpret_cast<const unsigned char*>(x.data()), x.size());
}

std::string_view CurveOf(std::string_view algorithm) {
  if (algorithm == "ES256") return "P-256";
  return algorithm == "ES384" ? "P-384" : "P-521";
}

// True if a member is absent, or a string that `accepts` takes. A member of another type makes the
// key unusable, because the intended restriction is unknown.
template <typename Accepts>
bool IsAbsentOr(const json& entry, const char* name, Accepts accepts) {
  auto member = entry.find(name);
  if (member == entry.end()) return true;
  return member->is_string() && accepts(member->get_ref<const std::string&>());
}

// Checks `key_ops` (RFC 7517, 4.3): if present, it must include "verify".
bool MayVerify(const json& entry) {
  auto operations = entry.find("key_ops");
  if (operations == entry.end()) return true;
  return operations->is_array() &&
         std::find(operations->begin(), operations->end(), "verify") != operations->end();
}

bool Fits(const JwtAlgorithm& algorithm, const json& entry) {
  bool meant = IsAbsentOr(entry, "use", [](std::string_view use) { return use == "sig"; }) &&
               IsAbsentOr(entry, "alg", [&](auto& name) { return name == algorithm.name; }) &&
               IsAbsentOr(entry, "kid", [](std::string_view) { return true; }) && MayVerify(entry);
  if (!meant) return false;
  std::string type = Text(entry, "kty");
  std::string curve = Text(entry, "crv");
  switch (algorithm.family) {
    case JwtFamily::kHmac:
      return type == "oct";
    case JwtFamily::kRsaPkcs1:
    case JwtFamily::kRsaPss:
      return type == "RSA";
    case JwtFamily::kEcdsa:
      return type == "EC" && curve == CurveOf(algorithm.name);
    case JwtFamily::kEdDsa:
      return type == "OKP" && (curve == "Ed25519" || curve == "Ed448");
  }
  return false;
}

EVP_PKEY* MakePublicKey(const JwtAlgorithm& algorithm, const json& entry) {
  switch (algorithm.family) {
    case JwtFamily::kRsaPkcs1:
    case JwtFamily::kRsaPss:
      return MakeRsaKey(entry);
    case JwtFamily::kEcdsa:
      return MakeEcKey(algorithm, entry);
    case JwtFamily::kEdDsa:
      return MakeEdKey(entry);
    case JwtFamily::kHmac:
      break;
  }
  return nullptr;
}

// Names a key in an error: by its place and, if it has one, by its id.
std::string NameOf(size_t index, const json& entry) {
  std::string name = "key " + std::to_string(index) + " of the set ";
  const std::string id = Text(entry, "kid");
  if (id.empty()) return name;
  name += "(kid ";
  AppendJsonString(name, CutAtCharacter(id, kShownIdBytesMax));
  return name + ") ";
}

Result<JwtKey> ReadSecret(const JwtAlgorithm& algorithm, const json& entry) {
  const std::string secret = Decoded(entry, "k");
  if (secret.empty()) return InvalidArgument("is empty");
  if (auto problem = settings::ShortSecretProblem(algorithm.name, secret)) {
    return InvalidArgument(*std::move(problem));
  }
  return JwtKey::FromSecret(algorithm, secret);
}

}  // namespace

Result<std::vector<JwtKey>> ReadJwks(const JwtAlgorithm& algorithm, std::string_view text) {
  Result<json> document = ParseConfigurationJson(text);
  if (!document.ok()) return document.status();
  auto entries = document->is_object() ? document->find("keys") : document->end();
  if (!document->is_object() || entries == document->end() || !entries->is_array()) {
    return InvalidArgument("is not a key set: it has no array \"keys\"");
  }
  std::vector<JwtKey> keys;
  for (size_t i = 0; i < entries->size(); ++i) {
    const json& entry = (*entries)[i];
    if (!entry.is_object() || !Fits(algorithm, entry)) continue;
    if (keys.size() == kJwksKeysMax) {
      return InvalidArgument("has more than " + std::to_string(kJwksKeysMax) +
                             " keys for the algorithm");
    }
    const std::string name = NameOf(i, entry);
    EVP_PKEY* public_key = nullptr;
    if (algorithm.family != JwtFamily::kHmac) {
      public_key = MakePublicKey(algorithm, entry);
      if (public_key == nullptr) return InvalidArgument(name + "is incomplete or broken");
    }
    Result<JwtKey> key = public_key == nullptr ? ReadSecret(algorithm, entry)
                                               : JwtKey::FromPublicKey(algorithm, public_key);
    if (!key.ok()) return InvalidArgument(name + key.status().message());
    key->id_ = Text(entry, "kid");
    keys.push_back(*std::move(key));
  }
  if (keys.empty()) {
    return InvalidArgument("has no key for " + std::string(algorithm.name) +
                           " that is for verifying signatures");
  }
  return keys;
}

}  // namespace agent_graph::auth
