// Tokens and keys that the test creates with OpenSSL.
#pragma once

#include <openssl/ec.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/pem.h>
#include <openssl/rsa.h>

#include <memory>
#include <string>
#include <string_view>

#include "agent_graph/json.h"

namespace agent_graph::auth::testing {

inline std::string EncodeBase64Url(std::string_view bytes) {
  static constexpr char kAlphabet[] =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
  std::string text;
  unsigned bits = 0;
  int count = 0;
  for (unsigned char byte : bytes) {
    bits = bits << 8 | byte;
    for (count += 8; count >= 6; count -= 6) text += kAlphabet[bits >> (count - 6) & 63];
  }
  if (count > 0) text += kAlphabet[bits << (6 - count) & 63];
  return text;
}

using Key = std::shared_ptr<EVP_PKEY>;

inline Key Own(EVP_PKEY* key) {
  return Key(key, EVP_PKEY_free);
}
inline Key RsaKey(unsigned bits = 2048) {
  return Own(EVP_RSA_gen(bits));
}
inline Key EcKey(const char* curve) {
  return Own(EVP_EC_gen(curve));
}
inline Key EdKey(const char* type = "ED25519") {
  return Own(EVP_PKEY_Q_keygen(nullptr, nullptr, type));
}

inline std::string Drain(BIO* bio) {
  char* data = nullptr;
  long length = BIO_get_mem_data(bio, &data);
  std::string text(data, static_cast<size_t>(length));
  BIO_free(bio);
  return text;
}
inline std::string PublicPem(const Key& key) {
  BIO* bio = BIO_new(BIO_s_mem());
  PEM_write_bio_PUBKEY(bio, key.get());
  return Drain(bio);
}
inline std::string PrivatePem(const Key& key) {
  BIO* bio = BIO_new(BIO_s_mem());
  PEM_write_bio_PrivateKey(bio, key.get(), nullptr, nullptr, 0, nullptr, nullptr);
  return Drain(bio);
}

inline std::string Hmac(const EVP_MD* digest, std::string_view secret, std::string_view text) {
  unsigned char out[EVP_MAX_MD_SIZE];
  unsigned length = 0;
  HMAC(digest, secret.data(), static_cast<int>(secret.size()),
       reinterpret_cast<const unsigned char*>(text.data()), text.size(), out, &length);
  return std::string(reinterpret_cast<char*>(out), length);
}

// Converts DER to r||s, each `coordinate_bytes` long.
inline std::string ToRaw(const std::string& der, size_t coordinate_bytes) {
  const auto* bytes = reinterpret_cast<const unsigned char*>(der.data());
  ECDSA_SIG* signature = d2i_ECDSA_SIG(nullptr, &bytes, static_cast<long>(der.size()));
  std::string raw(2 * coordinate_bytes, '\0');
  auto* out = reinterpret_cast<unsigned char*>(raw.data());
  BN_bn2binpad(ECDSA_SIG_get0_r(signature), out, static_cast<int>(coordinate_bytes));
  BN_bn2binpad(ECDSA_SIG_get0_s(signature), out + coordinate_bytes,
               static_cast<int>(coordinate_bytes));
  ECDSA_SIG_free(signature);
  return raw;
}

inline std::string Sign(const Key& key, const char* digest, bool pss, std::string_view text) {
  EVP_MD_CTX* context = EVP_MD_CTX_new();
  EVP_PKEY_CTX* parameters = nullptr;
  EVP_DigestSignInit_ex(context, &parameters, digest, nullptr, nullptr, key.get(), nullptr);
  if (pss) {
    EVP_PKEY_CTX_set_rsa_padding(parameters, RSA_PKCS1_PSS_PADDING);
    EVP_PKEY_CTX_set_rsa_pss_saltlen(parameters, RSA_PSS_SALTLEN_DIGEST);
  }
  const auto* bytes = reinterpret_cast<const unsigned char*>(text.data());
  size_t length = 0;
  EVP_DigestSign(context, nullptr, &length, bytes, text.size());
  std::string signature(length, '\0');
  EVP_DigestSign(context, reinterpret_cast<unsigned char*>(signature.data()), &length, bytes,
                 text.size());
  signature.resize(length);
  EVP_MD_CTX_free(context);
  return signature;
}

inline std::string SignedText(const json& header, const json& claims) {
  return EncodeBase64Url(header.dump()) + "." + EncodeBase64Url(claims.dump());
}

inline std::string HmacToken(const json& claims, std::string_view secret,
                             json header = {{"alg", "HS256"}, {"typ", "JWT"}}) {
  std::string text = SignedText(header, claims);
  return text + "." + EncodeBase64Url(Hmac(EVP_sha256(), secret, text));
}

// Signs with any asymmetric algorithm, selected by name.
inline std::string KeyToken(const std::string& algorithm, const Key& key, const json& claims,
                            json header = {}) {
  header["alg"] = algorithm;
  std::string text = SignedText(header, claims);
  std::string digest = "SHA" + algorithm.substr(2);
  if (algorithm == "EdDSA") return text + "." + EncodeBase64Url(Sign(key, nullptr, false, text));
  std::string signature = Sign(key, digest.c_str(), algorithm[0] == 'P', text);
  if (algorithm[0] == 'E') {
    signature = ToRaw(signature, algorithm == "ES256" ? 32 : algorithm == "ES384" ? 48 : 66);
  }
  return text + "." + EncodeBase64Url(signature);
}

}  // namespace agent_graph::auth::testing
