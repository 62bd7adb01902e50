// A certificate for the servers of tests.
#pragma once

#include <gtest/gtest.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <unistd.h>

#include <cstdio>
#include <string>

namespace agent_graph::testing {

// A self-signed certificate for 127.0.0.1, in a file that exists as long as this object.
class TestCertificate {
 public:
  TestCertificate() : key_(EVP_EC_gen("P-256")), certificate_(X509_new()) {
    ASN1_INTEGER_set(X509_get_serialNumber(certificate_), 1);
    X509_set_version(certificate_, X509_VERSION_3);
    X509_gmtime_adj(X509_getm_notBefore(certificate_), -3600);
    X509_gmtime_adj(X509_getm_notAfter(certificate_), 3600);
    X509_set_pubkey(certificate_, key_);
    X509_NAME* const name = X509_get_subject_name(certificate_);
    X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC,
                               reinterpret_cast<const unsigned char*>("test"), -1, -1, 0);
    X509_set_issuer_name(certificate_, name);
    X509_EXTENSION* const names =
        X509V3_EXT_conf_nid(nullptr, nullptr, NID_subject_alt_name, "IP:127.0.0.1");
    X509_add_ext(certificate_, names, -1);
    X509_EXTENSION_free(names);
    X509_sign(certificate_, key_, EVP_sha256());
    std::FILE* const out = fdopen(mkstemp(file_.data()), "w");
    PEM_write_X509(out, certificate_);
    std::fclose(out);
  }
  ~TestCertificate() {
    unlink(file_.c_str());
    X509_free(certificate_);
    EVP_PKEY_free(key_);
  }
  TestCertificate(const TestCertificate&) = delete;
  TestCertificate& operator=(const TestCertificate&) = delete;

  const std::string& file() const { return file_; }
  void Use(SSL_CTX* tls) const {
    SSL_CTX_use_certificate(tls, certificate_);
    SSL_CTX_use_PrivateKey(tls, key_);
  }

 private:
  EVP_PKEY* const key_;
  X509* const certificate_;
  std::string file_ = ::testing::TempDir() + "certificate-XXXXXX";
};

// The certificate of all servers of a test program.
inline const TestCertificate& CertificateOfTests() {
  static const TestCertificate certificate;
  return certificate;
}

}  // namespace agent_graph::testing
