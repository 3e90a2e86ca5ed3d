// An ordinary LibTorch program that trains a small classifier of points in a
// plane. It does not use graphdbg.
//
//   trainer [--optimizer sgd|adam] [--steps N] [--nan-at STEP]
//           [--throw-at STEP] [--predict N]
#include <torch/nn.h>
#include <torch/optim.h>

#include <cstdio>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

struct Net : torch::nn::Module {
  Net() {
    hidden = register_module("hidden", torch::nn::Linear(2, 16));
    output = register_module("output", torch::nn::Linear(16, 2));
  }

  torch::Tensor forward(const torch::Tensor& x) {
    return output(torch::relu(hidden(x)));
  }

  torch::nn::Linear hidden{nullptr};
  torch::nn::Linear output{nullptr};
};

struct Options {
  std::string optimizer = "sgd";
  int steps = 5;
  int nan_at = 0;
  int throw_at = 0;
  int predictions = 0;
};

Options Parse(const std::vector<std::string>& words) {
  Options options;
  for (size_t i = 1; i + 1 < words.size(); i += 2) {
    if (words[i] == "--optimizer") options.optimizer = words[i + 1];
    if (words[i] == "--steps") options.steps = std::stoi(words[i + 1]);
    if (words[i] == "--nan-at") options.nan_at = std::stoi(words[i + 1]);
    if (words[i] == "--throw-at") options.throw_at = std::stoi(words[i + 1]);
    if (words[i] == "--predict") options.predictions = std::stoi(words[i + 1]);
  }
  return options;
}

std::unique_ptr<torch::optim::Optimizer> MakeOptimizer(const Options& options,
                                                       Net* net) {
  if (options.optimizer == "adam") {
    return std::make_unique<torch::optim::Adam>(net->parameters(), 1e-2);
  }
  return std::make_unique<torch::optim::SGD>(net->parameters(), 1e-1);
}

torch::Tensor Loss(const torch::Tensor& logits, const torch::Tensor& y) {
  const torch::Tensor chosen = logits.softmax(1).gather(1, y.unsqueeze(1));
  return -chosen.log().mean();
}

void Train(const Options& options, Net* net) {
  const auto optimizer = MakeOptimizer(options, net);
  for (int step = 1; step <= options.steps; ++step) {
    const torch::Tensor x = torch::randn({32, 2});
    const torch::Tensor y = (x.select(1, 0) > x.select(1, 1)).to(torch::kLong);
    optimizer->zero_grad();
    torch::Tensor logits = net->forward(x);
    if (step == options.nan_at) logits = (logits - 1e6).sqrt();  // bad root
    if (step == options.throw_at) throw std::runtime_error("out of data");
    const torch::Tensor loss = Loss(logits, y);
    loss.backward();
    optimizer->step();
    std::printf("step %d loss %a\n", step, loss.item<float>());
  }
}

void Predict(const Options& options, Net* net) {
  const torch::NoGradGuard no_grad;
  net->eval();
  for (int i = 0; i < options.predictions; ++i) {
    const torch::Tensor classes = net->forward(torch::ones({4, 2})).argmax(1);
    std::printf("prediction %d\n", static_cast<int>(classes.size(0)));
  }
}

int main(int argc, char** argv) {
  const Options options = Parse(std::vector<std::string>(argv, argv + argc));
  torch::manual_seed(0);
  const auto net = std::make_shared<Net>();
  if (options.steps > 0) Train(options, net.get());
  Predict(options, net.get());
  std::puts("done");
  return 0;
}
