// A program file, run from C++17: neither Python nor a compiler is needed.
//
//   python -m cyxla compile examples.rosenbrock:value_and_gradient --input 'f64[10]' -o rosenbrock.cyxla
//   c++ -std=c++17 examples/cpp/load.cpp $(python -m cyxla config --cflags --libs) -o load
//   ./load rosenbrock.cyxla
#include <cstdio>
#include <cyxla/cyxla.hpp>
#include <exception>
#include <vector>

// Walks down the gradient, and prints where it gets.
static void descend(const cyxla::executable &rosenbrock) {
  std::vector<double> x(10, 0.5), gradient(10);
  double value = 0;
  cyxla::bound_call evaluate =
      rosenbrock.bind({cyxla::array(x)}, {cyxla::array(value), cyxla::array(gradient)});
  for (int step = 0; step <= 2000; ++step) {
    evaluate();
    if (step % 1000 == 0) std::printf("step %4d: %.6f\n", step, value);
    for (std::size_t i = 0; i < x.size(); ++i) x[i] -= 1e-3 * gradient[i];
  }
}

int main(int argc, char **argv) {
  if (argc != 2) return std::fprintf(stderr, "usage: %s FILE\n", argv[0]), 2;
  try {
    descend(cyxla::executable(argv[1]));
  } catch (const std::exception &error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
