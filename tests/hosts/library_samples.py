"""Small models of well-known libraries, without bugs, trained for some steps and evaluated.

usage: library_samples.py NAME
"""

import sys

import torch
from torch import nn
from torch.utils.data import DataLoader

STEPS = 15
SAMPLES = 10


def train(modules, loss_of, samples, lr=1e-3):
    """Trains modules on batches of two samples, with an evaluation after each epoch."""
    modules = nn.ModuleList(modules)
    parameters = [parameter for parameter in modules.parameters() if parameter.requires_grad]
    optimizer = torch.optim.AdamW(parameters, lr=lr)
    loader = DataLoader(samples, batch_size=2, shuffle=True)
    step = 0
    while step < STEPS:
        modules.train()
        for batch in loader:
            optimizer.zero_grad()
            loss = loss_of(batch)
            loss.backward()
            nn.utils.clip_grad_norm_(parameters, 1.0)
            optimizer.step()
            print(f"step {step} loss {loss.item():.9g}")
            step += 1
        modules.eval()
        with torch.no_grad():
            for batch in loader:
                loss_of(batch)


def train_model(model, **samples):
    """Trains a model that computes its loss itself. Each sample is a row of all tensors."""
    rows = [{name: values[row] for name, values in samples.items()} for row in range(SAMPLES)]
    train([model], lambda batch: model(**batch).loss, rows)


def words(length):
    return torch.randint(3, 50, (SAMPLES, length))


def padding(length):
    """Every second sequence is padded."""
    mask = torch.ones(SAMPLES, length, dtype=torch.long)
    mask[::2, length - 3 :] = 0
    return mask


def classes():
    return torch.randint(3, (SAMPLES,))


def t5():
    from transformers import T5Config, T5ForConditionalGeneration

    config = T5Config(vocab_size=50, d_model=16, d_kv=8, d_ff=32, num_layers=2, num_heads=2, decoder_start_token_id=0)
    model = T5ForConditionalGeneration(config)
    train_model(model, input_ids=words(40), attention_mask=padding(40), labels=words(9))


def bert():
    from transformers import BertConfig, BertForSequenceClassification

    config = BertConfig(
        vocab_size=50, hidden_size=16, num_hidden_layers=2, num_attention_heads=2, intermediate_size=32, num_labels=3
    )
    model = BertForSequenceClassification(config)
    train_model(model, input_ids=words(12), attention_mask=padding(12), labels=classes())


def gpt2_model():
    from transformers import GPT2Config, GPT2LMHeadModel

    config = GPT2Config(vocab_size=50, n_positions=32, n_embd=16, n_layer=2, n_head=2, bos_token_id=1, eos_token_id=2)
    return GPT2LMHeadModel(config)


def labelled(length):
    ids, mask = words(length), padding(length)
    return {"input_ids": ids, "attention_mask": mask, "labels": ids.masked_fill(mask == 0, -100)}


def gpt2():
    train_model(gpt2_model(), **labelled(12))


def llama():
    from transformers import LlamaConfig, LlamaForCausalLM

    config = LlamaConfig(
        vocab_size=50,
        hidden_size=16,
        intermediate_size=32,
        num_hidden_layers=2,
        num_attention_heads=2,
        num_key_value_heads=1,
        attn_implementation="eager",
    )
    train_model(LlamaForCausalLM(config), **labelled(12))


def vit():
    from transformers import ViTConfig, ViTForImageClassification

    config = ViTConfig(
        hidden_size=16,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=32,
        image_size=16,
        patch_size=4,
        num_labels=3,
    )
    train_model(ViTForImageClassification(config), pixel_values=torch.randn(SAMPLES, 3, 16, 16), labels=classes())


def wav2vec2():
    from transformers import Wav2Vec2Config, Wav2Vec2ForCTC

    config = Wav2Vec2Config(
        vocab_size=12,
        hidden_size=16,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=32,
        conv_dim=(8, 8),
        conv_stride=(5, 4),
        conv_kernel=(10, 4),
        num_conv_pos_embeddings=8,
        num_conv_pos_embedding_groups=2,
        mask_time_length=2,
        ctc_zero_infinity=True,
    )
    labels = torch.randint(1, 12, (SAMPLES, 6))
    train_model(Wav2Vec2ForCTC(config), input_values=torch.randn(SAMPLES, 1600), labels=labels)


def diffusers_unet():
    from diffusers import DDPMScheduler, UNet2DModel

    model = UNet2DModel(
        sample_size=8,
        in_channels=1,
        out_channels=1,
        block_out_channels=(8, 16),
        norm_num_groups=4,
        layers_per_block=1,
        down_block_types=("DownBlock2D", "AttnDownBlock2D"),
        up_block_types=("AttnUpBlock2D", "UpBlock2D"),
    )
    scheduler = DDPMScheduler(num_train_timesteps=20)

    def loss(images):
        noise = torch.randn_like(images)
        times = torch.randint(0, 20, (len(images),))
        return nn.functional.mse_loss(model(scheduler.add_noise(images, noise, times), times).sample, noise)

    train([model], loss, torch.randn(SAMPLES, 1, 8, 8))


def diffusers_autoencoder():
    from diffusers import AutoencoderKL

    model = AutoencoderKL(
        in_channels=1,
        out_channels=1,
        latent_channels=2,
        block_out_channels=(8,),
        norm_num_groups=4,
        down_block_types=("DownEncoderBlock2D",),
        up_block_types=("UpDecoderBlock2D",),
    )

    def loss(images):
        latent = model.encode(images).latent_dist
        return nn.functional.mse_loss(model.decode(latent.sample()).sample, images) + latent.kl().mean() * 1e-3

    train([model], loss, torch.randn(SAMPLES, 1, 8, 8))


def lightning():
    import lightning

    class Classifier(lightning.LightningModule):
        def __init__(self):
            super().__init__()
            self.net = nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Dropout(0.1), nn.Linear(8, 3))

        def training_step(self, batch):
            x, y = batch
            return nn.functional.cross_entropy(self.net(x), y)

        def validation_step(self, batch):
            self.log("loss", self.training_step(batch))

        def configure_optimizers(self):
            return torch.optim.Adam(self.parameters())

    data = torch.utils.data.TensorDataset(torch.randn(12, 4), torch.randint(0, 3, (12,)))
    loader = DataLoader(data, batch_size=4)
    trainer = lightning.Trainer(
        max_steps=STEPS,
        accelerator="cpu",
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
    )
    trainer.fit(Classifier(), loader, loader)


def peft():
    from peft import LoraConfig, get_peft_model

    model = get_peft_model(gpt2_model(), LoraConfig(r=2, target_modules=["c_attn"], fan_in_fan_out=True))
    train_model(model, **labelled(12))


def torch_geometric():
    from torch_geometric.nn import GATv2Conv, TransformerConv, global_max_pool

    first, second = GATv2Conv(4, 8), TransformerConv(8, 8)
    head = nn.Linear(8, 2)
    # Node 5 has no neighbours, and graph 1 no nodes.
    edges = torch.tensor([[0, 1, 2, 3, 4], [1, 2, 3, 4, 0]])
    graph = torch.tensor([0, 0, 0, 2, 2, 2])

    def loss(samples):
        nodes = samples.flatten(0, 1)
        hidden = second(first(nodes, edges).relu(), edges)
        return nn.functional.cross_entropy(head(global_max_pool(hidden, graph, 3)), torch.tensor([0, 1, 1]))

    train([first, second, head], loss, torch.randn(SAMPLES, 3, 4))


def gpytorch():
    import gpytorch

    class Process(gpytorch.models.ExactGP):
        def __init__(self, x, y, likelihood):
            super().__init__(x, y, likelihood)
            self.mean = gpytorch.means.ConstantMean()
            self.kernel = gpytorch.kernels.ScaleKernel(gpytorch.kernels.RBFKernel())

        def forward(self, x):
            return gpytorch.distributions.MultivariateNormal(self.mean(x), self.kernel(x))

    x = torch.linspace(0, 1, 12)
    y = torch.sin(x * 6)
    likelihood = gpytorch.likelihoods.GaussianLikelihood()
    model = Process(x, y, likelihood)
    marginal = gpytorch.mlls.ExactMarginalLogLikelihood(likelihood, model)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.1)
    for step in range(STEPS):
        model.train()
        likelihood.train()
        optimizer.zero_grad()
        loss = -marginal(model(x), y)
        loss.backward()
        optimizer.step()
        print(f"step {step} loss {loss.item():.9g}")
        model.eval()
        likelihood.eval()
        with torch.no_grad():
            likelihood(model(x + 0.01))


def x_transformers():
    from x_transformers import AutoregressiveWrapper, Decoder, TransformerWrapper

    decoder = Decoder(dim=16, depth=2, heads=2, attn_dim_head=8, rel_pos_bias=True, use_rmsnorm=True)
    model = AutoregressiveWrapper(TransformerWrapper(num_tokens=50, max_seq_len=40, attn_layers=decoder))
    train([model], model, words(40))


def hf_trainer():
    import tempfile

    from transformers import Trainer, TrainingArguments

    samples = labelled(12)
    rows = [{name: values[row] for name, values in samples.items()} for row in range(SAMPLES)]
    with tempfile.TemporaryDirectory() as folder:
        arguments = TrainingArguments(
            output_dir=folder,
            max_steps=STEPS,
            per_device_train_batch_size=2,
            gradient_accumulation_steps=2,
            eval_strategy="steps",
            eval_steps=5,
            warmup_steps=3,
            save_strategy="no",
            report_to=[],
            use_cpu=True,
            disable_tqdm=True,
        )
        Trainer(gpt2_model(), arguments, train_dataset=rows, eval_dataset=rows).train()


def accelerate():
    from accelerate import Accelerator

    accelerator = Accelerator(cpu=True, gradient_accumulation_steps=2)
    model = nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Dropout(0.1), nn.Linear(8, 3))
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, 1e-2, total_steps=2 * STEPS)
    data = torch.utils.data.TensorDataset(torch.randn(40, 4), torch.randint(3, (40,)))
    model, optimizer, loader, schedule = accelerator.prepare(
        model, optimizer, DataLoader(data, batch_size=4, shuffle=True), schedule
    )
    for _ in range(3):
        model.train()
        for x, y in loader:
            with accelerator.accumulate(model):
                loss = nn.functional.cross_entropy(model(x), y)
                accelerator.backward(loss)
                if accelerator.sync_gradients:
                    accelerator.clip_grad_norm_(model.parameters(), 1.0)
                optimizer.step()
                schedule.step()
                optimizer.zero_grad()
        model.eval()
        with torch.inference_mode():
            for x, y in loader:
                accelerator.gather_for_metrics((model(x), y))


def sentence_transformers():
    from sentence_transformers import SentenceTransformer, losses, models
    from tokenizers import Tokenizer, pre_tokenizers
    from tokenizers import models as tokens

    tokenizer = Tokenizer(tokens.WordLevel({str(word): word for word in range(50)}, unk_token="0"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    model = SentenceTransformer(modules=[models.StaticEmbedding(tokenizer, embedding_dim=16), models.Dense(16, 8)])
    loss = losses.MultipleNegativesRankingLoss(model)
    sentences = [" ".join(map(str, row)) for row in words(6).tolist()]

    def loss_of(batch):
        return loss([model.preprocess(batch), model.preprocess([each[3:] for each in batch])], None)

    train([loss], loss_of, sentences)


def without_kernels():
    """Declares ops of torchvision, whose kernels do not load with a CPU build of PyTorch."""
    if torch.version.cuda is None:
        for op in ("nms", "qnms"):
            torch.library.define(f"torchvision::{op}", "(Tensor boxes, Tensor scores, float threshold) -> Tensor")


def images():
    return [(torch.randn(3, 32, 32), label) for label in classes()]


def torchvision():
    without_kernels()
    from torchvision.models import mobilenet_v3_small

    model = mobilenet_v3_small(num_classes=3)
    train([model], lambda batch: nn.functional.cross_entropy(model(batch[0]), batch[1]), images())


def timm():
    without_kernels()
    import timm
    from timm.loss import LabelSmoothingCrossEntropy

    model = timm.create_model(
        "vit_tiny_patch16_224", img_size=32, embed_dim=24, depth=2, num_heads=2, num_classes=3, drop_path_rate=0.1
    )
    loss = LabelSmoothingCrossEntropy()
    train([model], lambda batch: loss(model(batch[0]), batch[1]), images())


if __name__ == "__main__":
    torch.manual_seed(0)
    globals()[sys.argv[1]]()
