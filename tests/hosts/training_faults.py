"""More trainings that do not learn, or evaluate wrongly. Argument: the fault."""

import copy
import os
import sys

import torch
from torch import nn
from torch.nn import functional as F
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(1)
inputs = torch.randn(64, 8)
labels = (inputs.sum(1) > 0).long()
data = TensorDataset(inputs, labels)
loader = DataLoader(data, batch_size=16, shuffle=True)
one_by_one = DataLoader(TensorDataset(inputs[:12], labels[:12]), batch_size=1)


def mlp(size=2):
    return nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Dropout(0.1), nn.Linear(16, size))


def fit(model, loss_of=F.cross_entropy, optimizer=None, batches=(*loader,) * 3, evaluate=None):
    optimizer = optimizer or torch.optim.Adam(model.parameters(), 1e-3)
    for x, y in batches:
        optimizer.zero_grad()
        loss_of(model(x), y).backward()
        optimizer.step()
        if evaluate:
            evaluate(model)


def evaluate_all(model):
    model.eval()
    with torch.no_grad():
        for x, _ in loader:
            model(x)
    model.train()


def only_decay():
    model = mlp()
    optimizer = torch.optim.AdamW(model.parameters(), 1e-3, weight_decay=0.1)
    fit(model, lambda out, y: F.cross_entropy(out, y) * 1e-20, optimizer)


def zero_group():
    model = mlp()
    groups = [{"params": model[0].parameters(), "lr": 0}, {"params": model[3].parameters()}]
    fit(model, optimizer=torch.optim.AdamW(groups))


def zero_tensor_rate():
    model = mlp()
    fit(model, optimizer=torch.optim.AdamW(model.parameters(), torch.tensor(0.0)))


class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.head = nn.Linear(8, 2)

    def forward(self, x):
        x = x.unflatten(1, (1, 2, 4))
        return self.head(F.scaled_dot_product_attention(x, x, x, dropout_p=0.2).flatten(1))


def attention_dropout():
    fit(Attention(), evaluate=evaluate_all)


class Functional(nn.Module):
    def __init__(self):
        super().__init__()
        self.head = nn.Linear(8, 2)

    def forward(self, x):
        return self.head(F.dropout(x, 0.2))


def functional_dropout():
    fit(Functional(), evaluate=evaluate_all)


class Recurrent(nn.Module):
    def __init__(self):
        super().__init__()
        self.rnn = nn.LSTM(2, 8, num_layers=2, dropout=0.2, batch_first=True)
        self.head = nn.Linear(8, 2)

    def forward(self, x):
        return self.head(self.rnn(x.unflatten(1, (4, 2)))[0][:, -1])


def recurrent_in_evaluation():
    fit(Recurrent().eval())


def short_validations():
    model = mlp()
    for x, _ in loader:
        fit(model, batches=(*loader,) * 2)
        with torch.no_grad():
            model(x)


def fixed_validation():
    def evaluate(model):
        with torch.no_grad():
            model(inputs)

    fit(mlp(), evaluate=evaluate)


def validation_with_gradients():
    def evaluate(model):
        for x, y in loader:
            F.cross_entropy(model(x), y).item()

    fit(mlp(), evaluate=evaluate)


class Pretrained(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = mlp(8).eval()
        self.head = nn.Linear(8, 2)

    def forward(self, x):
        return self.head(self.body(x))


def pretrained_part():
    fit(Pretrained())


def constant_single():
    model = nn.Sequential(nn.Linear(8, 2), nn.Hardtanh(-1e-9, 1e-9), nn.Threshold(1, 0.5))
    fit(model, batches=one_by_one)


def one_class_single():
    fit(mlp(1), lambda out, y: F.cross_entropy(out, y * 0), batches=one_by_one)


class ListOfLayers(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = [nn.Linear(8, 8), nn.Linear(8, 8)]
        self.head = nn.Linear(8, 2)

    def forward(self, x):
        for layer in self.layers:
            x = layer(x).relu()
        return self.head(x)


def list_of_layers():
    fit(ListOfLayers())


class NewLayer(nn.Module):
    def __init__(self):
        super().__init__()
        self.head = nn.Linear(8, 2)

    def forward(self, x):
        return self.head(nn.Linear(8, 8)(x).relu())


def new_layer():
    fit(NewLayer())


def stale_moved():
    model = mlp()
    optimizer = torch.optim.Adam(model.parameters())
    torch.__future__.set_overwrite_module_params_on_conversion(True)
    model.double()
    fit(model, optimizer=optimizer, batches=[(x.double(), y) for x, y in (*loader,) * 3])


def stale_head():
    model = mlp(5)
    optimizer = torch.optim.Adam(model.parameters())
    model[3] = nn.Linear(16, 2)
    fit(model, optimizer=optimizer)


def stale_sharded():
    from torch.distributed import destroy_process_group, init_process_group
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.fsdp import fully_shard

    os.environ.update(RANK="0", WORLD_SIZE="1")
    init_process_group("gloo", store=torch.distributed.HashStore(), rank=0, world_size=1)
    model = mlp()
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    fully_shard(model, mesh=init_device_mesh("cpu", (1,)))
    fit(model, optimizer=optimizer)
    destroy_process_group()


def sample_weights():
    weights = torch.rand(16, 1)
    fit(mlp(), lambda out, y: (F.cross_entropy(out, y, reduction="none") * weights).mean())


def softmax_twice():
    fit(nn.Sequential(mlp(), nn.Softmax(1)))


def sigmoid_twice():
    fit(nn.Sequential(mlp(), nn.Sigmoid()), lambda out, y: F.binary_cross_entropy_with_logits(out[:, 0], y.float()))


def no_backward():
    model = mlp()
    optimizer = torch.optim.Adam(model.parameters())
    for x, y in (*loader,) * 3:
        optimizer.zero_grad()
        F.cross_entropy(model(x), y)
        optimizer.step()


def reset_before_step():
    model = mlp()
    optimizer = torch.optim.Adam(model.parameters())
    for x, y in (*loader,) * 3:
        F.cross_entropy(model(x), y).backward()
        optimizer.zero_grad()
        optimizer.step()


def images():
    batches = [(torch.randn(4, 1, 6, 6), torch.randn(4, 6, 6)) for _ in range(4)]
    fit(nn.Conv2d(1, 1, 3, padding=1), F.mse_loss, batches=batches)


def dropped_cast():
    model = mlp()
    optimizer = torch.optim.Adam(model.parameters())
    for x, y in (*loader,) * 3:
        x.bfloat16()
        optimizer.zero_grad()
        F.cross_entropy(model(x), y).backward()
        optimizer.step()


class Casting(nn.Module):
    def __init__(self):
        super().__init__()
        self.head = nn.Linear(8, 2)

    def forward(self, x):
        x.to(torch.float64)
        return self.head(x)


def dropped_cast_in_forward():
    fit(Casting())


def compiled():
    fit(torch.compile(mlp(1)), lambda out, y: F.l1_loss(out, y.float()))


def validation_in_two_parts():
    """Both parts are called without eval()."""
    encoder, head = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Dropout(0.1)), nn.Linear(16, 2)
    optimizer = torch.optim.Adam([*encoder.parameters(), *head.parameters()], 1e-3)
    for x, y in (*loader,) * 3:
        optimizer.zero_grad()
        F.cross_entropy(head(encoder(x)), y).backward()
        optimizer.step()
    with torch.no_grad():
        for x, _ in loader:
            head(encoder(x))


class WithLoss(nn.Module):
    def __init__(self):
        super().__init__()
        self.head = mlp(1)

    def forward(self, x, y):
        return {"loss": F.mse_loss(self.head(x), y.float())}


# Code of a library, which trains as Hugging Face's Trainer does.
LIBRARY = """
def train(model, optimizer, batches):
    for x, y in batches:
        loss = model(x, y)["loss"]
        loss = loss / 1
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
"""


def loss_in_model():
    library = {}
    exec(compile(LIBRARY, "/site-packages/trainer.py", "exec"), library)
    model = WithLoss()
    library["train"](model, torch.optim.Adam(model.parameters()), (*loader,) * 3)


class Rounded(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder, self.head = nn.Linear(8, 8), nn.Linear(8, 2)

    def forward(self, x):
        return self.head(torch.round(self.encoder(x)))


def rounded():
    fit(Rounded())


class Weighted(nn.Module):
    def __init__(self):
        super().__init__()
        self.score, self.head = nn.Linear(1, 1), nn.Linear(1, 2)

    def forward(self, x):
        x = x.unsqueeze(2)
        return self.head((self.score(x).softmax(-1) * x).sum(1))


def attention_over_one():
    fit(Weighted())


class WithToken(nn.Module):
    def __init__(self):
        super().__init__()
        self.token = torch.zeros(8, requires_grad=True)
        self.head = nn.Linear(8, 2)

    def forward(self, x):
        return self.head(x + self.token)


def plain_tensor():
    fit(WithToken())


def advantages():
    policy = nn.Linear(8, 2)

    def loss_of(out, y):
        advantage = y.float() + torch.rand(16) - torch.rand(16, 1)
        return -(out.log_softmax(1)[:, 0] * advantage).mean()

    fit(policy, loss_of)


def step_not_called():
    model = mlp()
    optimizer = torch.optim.Adam(model.parameters())
    for x, y in (*loader,) * 8:
        optimizer.zero_grad()
        F.cross_entropy(model(x), y).backward()


def only_one_optimizer_steps():
    encoder, head = nn.Linear(8, 8), nn.Linear(8, 2)
    of_encoder, of_head = torch.optim.SGD(encoder.parameters(), 0.1), torch.optim.SGD(head.parameters(), 0.1)
    for x, y in (*loader,) * 3:
        of_head.zero_grad()
        of_encoder.zero_grad()
        F.cross_entropy(head(encoder(x)), y).backward()
        of_head.step()


def reset_by_one_optimizer():
    encoder, head = nn.Linear(8, 8), nn.Linear(8, 2)
    of_encoder, of_head = torch.optim.SGD(encoder.parameters(), 0.1), torch.optim.SGD(head.parameters(), 0.1)
    for x, y in (*loader,) * 8:
        of_head.zero_grad()
        F.cross_entropy(head(encoder(x)), y).backward()
        of_head.step()
        of_encoder.step()


def step_only_named():
    model = mlp()
    optimizer = torch.optim.Adam(model.parameters())
    for x, y in (*loader,) * 2:
        optimizer.zero_grad()
        F.cross_entropy(model(x), y).backward()
        optimizer.step  # noqa: B018


def step_of_the_scheduler_only():
    model = mlp()
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    schedule = torch.optim.lr_scheduler.StepLR(optimizer, 10)
    for _ in range(2):
        for x, y in loader:
            optimizer.zero_grad()
            F.cross_entropy(model(x), y).backward()
        schedule.step()


def step_never_reached():
    model = mlp()
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    for number, (x, y) in enumerate((*loader,) * 5):
        optimizer.zero_grad()
        F.cross_entropy(model(x), y).backward()
        if number % 100 == 99:
            optimizer.step()


def restored_checkpoint():
    model = mlp()
    optimizer = torch.optim.Adam(model.parameters(), 1e-3)
    start = copy.deepcopy(model.state_dict())
    for x, y in (*loader,) * 3:
        model.load_state_dict(start)
        optimizer.zero_grad()
        F.cross_entropy(model(x), y).backward()
        optimizer.step()


def copied_back():
    model = mlp()
    average = copy.deepcopy(model)

    def copy_back(model):
        with torch.no_grad():
            for parameter, kept in zip(model.parameters(), average.parameters(), strict=True):
                parameter.copy_(kept)

    fit(model, evaluate=copy_back)


def rate_falls_in_each_step():
    model = mlp()
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    schedule = torch.optim.lr_scheduler.ExponentialLR(optimizer, 0.1)
    for x, y in (*loader,) * 6:
        optimizer.zero_grad()
        F.cross_entropy(model(x), y).backward()
        optimizer.step()
        schedule.step()


def clipped_to_zero():
    model = mlp()
    optimizer = torch.optim.Adam(model.parameters(), 1e-3)
    for x, y in (*loader,) * 2:
        optimizer.zero_grad()
        F.cross_entropy(model(x), y).backward()
        nn.utils.clip_grad_norm_(model.parameters(), 0.0)
        optimizer.step()


class Residual(nn.Module):
    def __init__(self):
        super().__init__()
        self.wide, self.head = nn.Linear(8, 16), nn.Linear(16, 2)

    def forward(self, x):
        return x[:, :2] + self.head(F.relu(self.wide(x)))


def dead_layer():
    model = Residual()
    with torch.no_grad():
        model.wide.bias.fill_(-100)
    fit(model)


def parameters_of_another_model():
    policy, value = nn.Linear(8, 2), nn.Linear(8, 1)
    of_policy = torch.optim.Adam(policy.parameters())
    of_value = torch.optim.Adam(policy.parameters())
    for x, y in loader:
        of_value.zero_grad()
        F.mse_loss(value(x).squeeze(1), y.float()).backward()
        of_value.step()
        of_policy.zero_grad()
        F.cross_entropy(policy(x), y).backward()
        of_policy.step()


globals()[sys.argv[1]]()
print("done")
