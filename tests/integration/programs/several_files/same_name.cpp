// SPDX-License-Identifier: Apache-2.0
// Two files with static kernels and variables of the same names: each has its own.
#include "tests/integration/programs/check.h"

int run_one(int*);
int run_two(int*);
void set_one(int);
void set_two(int);
int get_one();
int get_two();

int main(int argc, char** argv) {
  int* data = nullptr;
  CHECK(cudaMalloc(&data, sizeof(int)));
  CHECK(cudaMemset(data, 0, sizeof(int)));
  int const one = run_one(data), two = run_two(data);
  set_one(100);
  set_two(200);
  std::printf("%d %d, variables %d %d\n", one, two, get_one(), get_two());
  REQUIRE(get_one() == 100 && get_two() == 200);
  if (values_count(argc, argv)) REQUIRE(one == 2 && two == 4);
  CHECK(cudaFree(data));
  return 0;
}
