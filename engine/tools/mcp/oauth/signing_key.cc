#include "tools/mcp/oauth/signing_key.h"

#include <openssl/bio.h>
#include <openssl/ecdsa.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/rsa.h>

#include <algorithm>
#include <array>
#include <utility>

#include "agent_graph/json.h"
#include "base/base64.h"
#include "base/json.h"

namespace agent_graph::tools::mcp::oauth {
namespace {

constexpr int kRsaBitsMin = 2048;

struct Free {
  void operator()(BIO* bio) const { BIO_free(bio); }
  void operator()(EVP_PKEY* key) const { EVP_PKEY_free(key); }
  void operator()(EVP_MD_CTX* context) const { EVP_MD_CTX_free(context); }
  void operator()(ECDSA_SIG* signature) const { ECDSA_SIG_free(signature); }
};
template <typename T>
using Owned = std::unique_ptr<T, Free>;

const unsigned char* Bytes(std::string_view text) {
  return reinterpret_cast<const unsigned char*>(text.data());
}

// Without this callback OpenSSL asks for a passphrase on the terminal.
int NoPassphrase(char*, int, int, void*) {
  return -1;
}

std::string WithLineEnds(std::string_view pem) {
  std::string text;
  for (size_t i = 0; i < pem.size(); ++i) {
    const bool is_end = pem.substr(i, 2) == "\\n";
    text.push_back(is_end ? '\n' : pem[i]);
    i += is_end ? 1 : 0;
  }
  return text;
}

std::string CurveOf(EVP_PKEY* key) {
  std::array<char, 64> name{};
  size_t length = 0;
  if (EVP_PKEY_get_group_name(key, name.data(), name.size(), &length) != 1) return "";
  return std::string(name.data(), length);
}

std::vector<std::string> AlgorithmsOf(EVP_PKEY* key) {
  if (EVP_PKEY_is_a(key, "RSA") && EVP_PKEY_get_bits(key) >= kRsaBitsMin) return {"RS256", "PS256"};
  if (EVP_PKEY_is_a(key, "ED25519")) return {"EdDSA"};
  if (!EVP_PKEY_is_a(key, "EC")) return {};
  const std::string curve = CurveOf(key);
  if (curve == "prime256v1") return {"ES256"};
  if (curve == "secp384r1") return {"ES384"};
  return {};
}

// Converts OpenSSL's signature (DER) to the format of tokens: both numbers with fixed length.
std::string ToRaw(const std::string& der, int coordinate_bytes) {
  const unsigned char* bytes = Bytes(der);
  const Owned<ECDSA_SIG> signature(d2i_ECDSA_SIG(nullptr, &bytes, static_cast<long>(der.size())));
  if (signature == nullptr) return "";
  std::string raw(static_cast<size_t>(2 * coordinate_bytes), '\0');
  auto* out = reinterpret_cast<unsigned char*>(raw.data());
  if (BN_bn2binpad(ECDSA_SIG_get0_r(signature.get()), out, coordinate_bytes) < 0 ||
      BN_bn2binpad(ECDSA_SIG_get0_s(signature.get()), out + coordinate_bytes, coordinate_bytes) <
          0) {
    return "";
  }
  return raw;
}

bool UsePss(EVP_PKEY_CTX* context) {
  return EVP_PKEY_CTX_set_rsa_padding(context, RSA_PKCS1_PSS_PADDING) == 1 &&
         EVP_PKEY_CTX_set_rsa_pss_saltlen(context, RSA_PSS_SALTLEN_DIGEST) == 1;
}

}  // namespace

struct SigningKey::Key {
  Owned<EVP_PKEY> key;
};

SigningKey::SigningKey(std::unique_ptr<Key> key, std::vector<std::string> algorithms)
    : key_(std::move(key)), algorithms_(std::move(algorithms)) {}
SigningKey::~SigningKey() = default;

Result<SigningKeyPtr> SigningKey::FromPem(std::string_view pem) {
  const std::string text = WithLineEnds(pem);
  const Owned<BIO> bio(BIO_new_mem_buf(text.data(), static_cast<int>(text.size())));
  auto key = std::make_unique<Key>();
  if (bio != nullptr) {
    key->key.reset(PEM_read_bio_PrivateKey(bio.get(), nullptr, NoPassphrase, nullptr));
  }
  ERR_clear_error();
  if (key->key == nullptr) {
    return Status(StatusCode::kInvalidArgument, "is not a private key in PEM form");
  }
  std::vector<std::string> algorithms = AlgorithmsOf(key->key.get());
  if (algorithms.empty()) {
    return Status(StatusCode::kInvalidArgument,
                  "must be an RSA key of 2048 bits or more, a key on P-256 or P-384, or Ed25519");
  }
  return SigningKeyPtr(new SigningKey(std::move(key), std::move(algorithms)));
}

std::string SigningKey::AlgorithmFor(const std::vector<std::string>& accepted) const {
  if (accepted.empty()) return algorithms_.front();
  for (const std::string& algorithm : algorithms_) {
    if (std::find(accepted.begin(), accepted.end(), algorithm) != accepted.end()) return algorithm;
  }
  return "";
}

std::string SigningKey::SignedToken(const std::string& algorithm, const std::string& key_id,
                                    const json& claims) const {
  json header = {{"alg", algorithm}, {"typ", "JWT"}};
  if (!key_id.empty()) header["kid"] = key_id;
  const std::string text =
      EncodeBase64Url(DumpJson(header)) + "." + EncodeBase64Url(DumpJson(claims));
  const std::string signature = Sign(algorithm, text);
  return signature.empty() ? "" : text + "." + EncodeBase64Url(signature);
}

std::string SigningKey::Sign(std::string_view algorithm, std::string_view text) const {
  const Owned<EVP_MD_CTX> context(EVP_MD_CTX_new());
  const EVP_MD* const digest = algorithm == "EdDSA"   ? nullptr
                               : algorithm == "ES384" ? EVP_sha384()
                                                      : EVP_sha256();
  EVP_PKEY_CTX* parameters = nullptr;  // owned by the context
  size_t length = 0;
  std::string signature;
  bool ok = context != nullptr &&
            EVP_DigestSignInit(context.get(), &parameters, digest, nullptr, key_->key.get()) == 1;
  ok = ok && (algorithm != "PS256" || UsePss(parameters));
  ok = ok && EVP_DigestSign(context.get(), nullptr, &length, Bytes(text), text.size()) == 1;
  if (ok) signature.resize(length);
  ok = ok && EVP_DigestSign(context.get(), reinterpret_cast<unsigned char*>(signature.data()),
                            &length, Bytes(text), text.size()) == 1;
  ERR_clear_error();
  if (!ok) return "";
  signature.resize(length);
  if (algorithm == "ES256") return ToRaw(signature, 32);
  if (algorithm == "ES384") return ToRaw(signature, 48);
  return signature;
}

}  // namespace agent_graph::tools::mcp::oauth
