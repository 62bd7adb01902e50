#include "auth/jwt_key.h"

#include <openssl/bio.h>
#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <openssl/decoder.h>
#include <openssl/ec.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/rsa.h>
#include <openssl/x509.h>

#include <array>

#include "auth/weak_key.h"

namespace agent_graph::auth {
namespace {

constexpr int kRsaBitsMin = 2048;  // RFC 7518, 3.3 and 3.5

constexpr std::array kAlgorithms = {
    JwtAlgorithm{"HS256", JwtFamily::kHmac, "SHA256", nullptr, 0},
    JwtAlgorithm{"HS384", JwtFamily::kHmac, "SHA384", nullptr, 0},
    JwtAlgorithm{"HS512", JwtFamily::kHmac, "SHA512", nullptr, 0},
    JwtAlgorithm{"RS256", JwtFamily::kRsaPkcs1, "SHA256", nullptr, 0},
    JwtAlgorithm{"RS384", JwtFamily::kRsaPkcs1, "SHA384", nullptr, 0},
    JwtAlgorithm{"RS512", JwtFamily::kRsaPkcs1, "SHA512", nullptr, 0},
    JwtAlgorithm{"PS256", JwtFamily::kRsaPss, "SHA256", nullptr, 0},
    JwtAlgorithm{"PS384", JwtFamily::kRsaPss, "SHA384", nullptr, 0},
    JwtAlgorithm{"PS512", JwtFamily::kRsaPss, "SHA512", nullptr, 0},
    JwtAlgorithm{"ES256", JwtFamily::kEcdsa, "SHA256", "prime256v1", 32},
    JwtAlgorithm{"ES384", JwtFamily::kEcdsa, "SHA384", "secp384r1", 48},
    JwtAlgorithm{"ES512", JwtFamily::kEcdsa, "SHA512", "secp521r1", 66},
    JwtAlgorithm{"EdDSA", JwtFamily::kEdDsa, nullptr, nullptr, 0},
};

// Clears OpenSSL's error queue. libcurl reads the same per-thread queue and would report our
// leftover errors as its own.
struct ErrorQueueGuard {
  ~ErrorQueueGuard() { ERR_clear_error(); }
};

const unsigned char* Bytes(std::string_view text) {
  return reinterpret_cast<const unsigned char*>(text.data());
}

// Without this callback OpenSSL asks for a passphrase on the terminal.
int NoPassphrase(char*, int, int, void*) {
  return -1;
}

std::string WithLineEnds(std::string_view pem) {
  std::string text;
  text.reserve(pem.size());
  for (size_t i = 0; i < pem.size(); ++i) {
    if (pem[i] == '\\' && i + 1 < pem.size() && pem[i + 1] == 'n') {
      text.push_back('\n');
      ++i;
    } else {
      text.push_back(pem[i]);
    }
  }
  return text;
}

EVP_PKEY* ReadCertificate(const std::string& text) {
  Owned<BIO> bio(BIO_new_mem_buf(text.data(), static_cast<int>(text.size())));
  if (bio == nullptr) return nullptr;
  Owned<X509> certificate(PEM_read_bio_X509(bio.get(), nullptr, NoPassphrase, nullptr));
  return certificate == nullptr ? nullptr : X509_get_pubkey(certificate.get());
}

EVP_PKEY* ReadPem(const std::string& text) {
  if (text.find("BEGIN CERTIFICATE") != std::string::npos) return ReadCertificate(text);
  int selection =
      text.find("PRIVATE KEY") != std::string::npos ? EVP_PKEY_KEYPAIR : EVP_PKEY_PUBLIC_KEY;
  EVP_PKEY* key = nullptr;
  Owned<OSSL_DECODER_CTX> decoder(
      OSSL_DECODER_CTX_new_for_pkey(&key, "PEM", nullptr, nullptr, selection, nullptr, nullptr));
  const unsigned char* bytes = Bytes(text);
  size_t length = text.size();
  if (decoder == nullptr ||
      OSSL_DECODER_CTX_set_pem_password_cb(decoder.get(), NoPassphrase, nullptr) != 1 ||
      OSSL_DECODER_from_data(decoder.get(), &bytes, &length) != 1) {
    return nullptr;
  }
  return key;
}

Status CheckRsa(const JwtAlgorithm& algorithm, EVP_PKEY* key) {
  bool fits = EVP_PKEY_is_a(key, "RSA") ||
              (algorithm.family == JwtFamily::kRsaPss && EVP_PKEY_is_a(key, "RSA-PSS"));
  if (!fits)
    return InvalidArgument("is not an RSA key, which " + std::string(algorithm.name) + " needs");
  if (EVP_PKEY_get_bits(key) < kRsaBitsMin) {
    return InvalidArgument("is an RSA key of less than " + std::to_string(kRsaBitsMin) + " bits");
  }
  return CheckRsaStrength(key);
}

Status CheckCurve(const JwtAlgorithm& algorithm, EVP_PKEY* key) {
  std::array<char, 64> name{};
  size_t length = 0;
  if (EVP_PKEY_is_a(key, "EC") &&
      EVP_PKEY_get_group_name(key, name.data(), name.size(), &length) == 1 &&
      std::string_view(name.data(), length) == algorithm.curve) {
    return Status::Ok();
  }
  return InvalidArgument("is not a key on the curve " + std::string(algorithm.curve) + ", which " +
                         std::string(algorithm.name) + " needs");
}

Status CheckType(const JwtAlgorithm& algorithm, EVP_PKEY* key) {
  switch (algorithm.family) {
    case JwtFamily::kRsaPkcs1:
    case JwtFamily::kRsaPss:
      return CheckRsa(algorithm, key);
    case JwtFamily::kEcdsa:
      return CheckCurve(algorithm, key);
    case JwtFamily::kEdDsa:
      if (EVP_PKEY_is_a(key, "ED25519") || EVP_PKEY_is_a(key, "ED448")) {
        return CheckEdwardsStrength(key);
      }
      return InvalidArgument("is neither an Ed25519 nor an Ed448 key, which EdDSA needs");
    case JwtFamily::kHmac:
      break;
  }
  return InvalidArgument("is a public key, but " + std::string(algorithm.name) + " needs a secret");
}

// Converts r||s of fixed length to the DER form that OpenSSL verifies. Empty if `raw` cannot be a
// signature.
std::string ToDer(std::string_view raw, size_t coordinate_bytes) {
  if (raw.size() != 2 * coordinate_bytes) return {};
  Owned<ECDSA_SIG> signature(ECDSA_SIG_new());
  int bytes = static_cast<int>(coordinate_bytes);
  BIGNUM* r = BN_bin2bn(Bytes(raw), bytes, nullptr);
  BIGNUM* s = BN_bin2bn(Bytes(raw) + coordinate_bytes, bytes, nullptr);
  if (signature == nullptr || r == nullptr || s == nullptr ||
      ECDSA_SIG_set0(signature.get(), r, s) != 1) {
    BN_free(r);
    BN_free(s);
    return {};
  }
  unsigned char* der = nullptr;
  int length = i2d_ECDSA_SIG(signature.get(), &der);
  if (length <= 0) return {};
  std::string out(reinterpret_cast<char*>(der), static_cast<size_t>(length));
  OPENSSL_free(der);
  return out;
}

}  // namespace

const JwtAlgorithm* FindJwtAlgorithm(std::string_view name) {
  for (const JwtAlgorithm& algorithm : kAlgorithms) {
    if (algorithm.name == name) return &algorithm;
  }
  return nullptr;
}

bool LooksLikePem(std::string_view text) {
  return text.find("-----BEGIN ") != std::string_view::npos;
}

Result<JwtKey> JwtKey::FromSecret(const JwtAlgorithm& algorithm, std::string_view secret) {
  if (algorithm.family != JwtFamily::kHmac) {
    return InvalidArgument("is a secret, but " + std::string(algorithm.name) +
                           " needs a key in PEM form");
  }
  // A public key must not be used as a secret: everybody who knows it could sign.
  if (LooksLikePem(secret)) {
    return InvalidArgument("is a key in PEM form, but " + std::string(algorithm.name) +
                           " needs a secret");
  }
  if (secret.empty()) return InvalidArgument("is empty");
  ErrorQueueGuard errors;
  JwtKey key(algorithm);
  Owned<EVP_MAC> mac(EVP_MAC_fetch(nullptr, "HMAC", nullptr));
  key.mac_.reset(mac == nullptr ? nullptr : EVP_MAC_CTX_new(mac.get()));
  std::string digest = algorithm.digest;
  OSSL_PARAM parameters[] = {
      OSSL_PARAM_construct_utf8_string(OSSL_MAC_PARAM_DIGEST, digest.data(), 0),
      OSSL_PARAM_construct_end()};
  if (key.mac_ == nullptr ||
      EVP_MAC_init(key.mac_.get(), Bytes(secret), secret.size(), parameters) != 1) {
    return Status(StatusCode::kUnavailable, "OpenSSL refuses the secret");
  }
  return key;
}

Result<JwtKey> JwtKey::FromPem(const JwtAlgorithm& algorithm, std::string_view pem) {
  ErrorQueueGuard errors;
  EVP_PKEY* key = ReadPem(WithLineEnds(pem));
  if (key == nullptr) return InvalidArgument("is not a key or certificate in PEM form");
  return FromPublicKey(algorithm, key);
}

Result<JwtKey> JwtKey::FromPublicKey(const JwtAlgorithm& algorithm, EVP_PKEY* public_key) {
  JwtKey key(algorithm);
  key.public_key_.reset(public_key);
  AG_RETURN_IF_ERROR(CheckType(algorithm, public_key));
  return key;
}

bool JwtKey::Verify(std::string_view signed_text, std::string_view signature) const {
  ErrorQueueGuard errors;
  if (mac_ != nullptr) return VerifyMac(signed_text, signature);
  if (algorithm_->family != JwtFamily::kEcdsa) return VerifyPublic(signed_text, signature);
  std::string der = ToDer(signature, algorithm_->coordinate_bytes);
  return !der.empty() && VerifyPublic(signed_text, der);
}

bool JwtKey::VerifyMac(std::string_view signed_text, std::string_view signature) const {
  Owned<EVP_MAC_CTX> context(EVP_MAC_CTX_dup(mac_.get()));
  std::array<unsigned char, EVP_MAX_MD_SIZE> expected{};
  size_t length = 0;
  return context != nullptr &&
         EVP_MAC_update(context.get(), Bytes(signed_text), signed_text.size()) == 1 &&
         EVP_MAC_final(context.get(), expected.data(), &length, expected.size()) == 1 &&
         signature.size() == length &&
         CRYPTO_memcmp(signature.data(), expected.data(), length) == 0;
}

bool JwtKey::VerifyPublic(std::string_view signed_text, std::string_view signature) const {
  Owned<EVP_MD_CTX> context(EVP_MD_CTX_new());
  EVP_PKEY_CTX* parameters = nullptr;  // owned by `context`
  if (context == nullptr ||
      EVP_DigestVerifyInit_ex(context.get(), &parameters, algorithm_->digest, nullptr, nullptr,
                              public_key_.get(), nullptr) != 1) {
    return false;
  }
  if (algorithm_->family == JwtFamily::kRsaPss &&
      (EVP_PKEY_CTX_set_rsa_padding(parameters, RSA_PKCS1_PSS_PADDING) != 1 ||
       EVP_PKEY_CTX_set_rsa_pss_saltlen(parameters, RSA_PSS_SALTLEN_DIGEST) != 1)) {
    return false;
  }
  return EVP_DigestVerify(context.get(), Bytes(signature), signature.size(), Bytes(signed_text),
                          signed_text.size()) == 1;
}

}  // namespace agent_graph::auth
