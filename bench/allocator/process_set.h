// SPDX-License-Identifier: Apache-2.0
// The processes of a bench: the program runs itself once per peer, since an allocator keeps what it has until the end
// and some are set up by the environment alone. What a process measured comes back as lines "question<TAB>value".
#pragma once
#include <map>
#include <string>
#include <vector>

#include "bench/allocator/peer_names.h"

namespace tidemark::bench {

struct Answer {
  int exit_code = 0;
  std::string talk;                                      // what a process that failed said on stderr
  std::vector<std::pair<std::string, double>> values;    // as they came
  double operator[](const std::string& question) const;  // 0: it is not among them
};

// environment: NAME=VALUE words, beside the peer's own and the software device's.
Answer ask(const PeerName& peer, const std::vector<std::string>& arguments, const std::string& environment);

// In such a process.
void answer(const std::string& question, double value);

// Values of several rounds, by peer and question.
class Table {
 public:
  void add(const std::string& peer, const std::string& question, double value);
  bool has(const std::string& peer, const std::string& question) const;
  double median(const std::string& peer, const std::string& question) const;
  double best(const std::string& peer, const std::string& question) const;  // the least
  const std::vector<std::string>& questions() const { return questions_; }
  const std::vector<std::string>& peers() const { return peers_; }

 private:
  const std::vector<double>* find(const std::string& peer, const std::string& question) const;
  std::vector<std::string> peers_, questions_;  // in the order in which they came
  std::map<std::pair<std::string, std::string>, std::vector<double>> values_;
};

// "Linux x86_64, 2 x AMD EPYC…", and the commit that the program was built from (with + where files had changed).
std::string machine();
std::string commit();

}  // namespace tidemark::bench
