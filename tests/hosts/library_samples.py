"""Small models of well-known libraries, without bugs, trained for a few steps.

usage: library_samples.py NAME
"""

import sys

import torch
from torch import nn

STEPS = 3


def fit(parameters, loss_of, lr=1e-3):
    optimizer = torch.optim.AdamW(parameters, lr=lr)
    for step in range(STEPS):
        optimizer.zero_grad()
        loss = loss_of()
        loss.backward()
        nn.utils.clip_grad_norm_(parameters, 1.0)
        optimizer.step()
        print(f"step {step} loss {loss.item():.9g}")


def fit_model(model, **batch):
    model.train()
    fit(list(model.parameters()), lambda: model(**batch).loss)


def words(*shape):
    return torch.randint(3, 50, shape)


# The second sequence is padded.
def padding(length):
    mask = torch.ones(2, length, dtype=torch.long)
    mask[1, length - 3 :] = 0
    return mask


def t5():
    from transformers import T5Config, T5ForConditionalGeneration

    config = T5Config(vocab_size=50, d_model=16, d_kv=8, d_ff=32, num_layers=2, num_heads=2, decoder_start_token_id=0)
    fit_model(
        T5ForConditionalGeneration(config), input_ids=words(2, 40), attention_mask=padding(40), labels=words(2, 9)
    )


def bert():
    from transformers import BertConfig, BertForSequenceClassification

    config = BertConfig(
        vocab_size=50, hidden_size=16, num_hidden_layers=2, num_attention_heads=2, intermediate_size=32, num_labels=3
    )
    model = BertForSequenceClassification(config)
    fit_model(model, input_ids=words(2, 12), attention_mask=padding(12), labels=torch.tensor([0, 2]))


def gpt2_model():
    from transformers import GPT2Config, GPT2LMHeadModel

    config = GPT2Config(vocab_size=50, n_positions=32, n_embd=16, n_layer=2, n_head=2, bos_token_id=1, eos_token_id=2)
    return GPT2LMHeadModel(config)


def labelled(length):
    ids, mask = words(2, length), padding(length)
    return {"input_ids": ids, "attention_mask": mask, "labels": ids.masked_fill(mask == 0, -100)}


def gpt2():
    fit_model(gpt2_model(), **labelled(12))


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
    fit_model(LlamaForCausalLM(config), **labelled(12))


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
    fit_model(ViTForImageClassification(config), pixel_values=torch.randn(2, 3, 16, 16), labels=torch.tensor([0, 2]))


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
    fit_model(Wav2Vec2ForCTC(config), input_values=torch.randn(2, 1600), labels=torch.randint(1, 12, (2, 6)))


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
    images = torch.randn(2, 1, 8, 8)

    def loss():
        noise = torch.randn_like(images)
        times = torch.randint(0, 20, (2,))
        return nn.functional.mse_loss(model(scheduler.add_noise(images, noise, times), times).sample, noise)

    fit(list(model.parameters()), loss)


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
    images = torch.randn(2, 1, 8, 8)

    def loss():
        latent = model.encode(images).latent_dist
        return nn.functional.mse_loss(model.decode(latent.sample()).sample, images) + latent.kl().mean() * 1e-3

    fit(list(model.parameters()), loss)


def lightning():
    import lightning

    class Classifier(lightning.LightningModule):
        def __init__(self):
            super().__init__()
            self.net = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 3))

        def training_step(self, batch):
            x, y = batch
            return nn.functional.cross_entropy(self.net(x), y)

        def configure_optimizers(self):
            return torch.optim.Adam(self.parameters())

    data = torch.utils.data.TensorDataset(torch.randn(12, 4), torch.randint(0, 3, (12,)))
    trainer = lightning.Trainer(
        max_steps=STEPS,
        accelerator="cpu",
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
    )
    trainer.fit(Classifier(), torch.utils.data.DataLoader(data, batch_size=4))


def peft():
    from peft import LoraConfig, get_peft_model

    model = get_peft_model(gpt2_model(), LoraConfig(r=2, target_modules=["c_attn"], fan_in_fan_out=True))
    fit_model(model, **labelled(12))


def torch_geometric():
    from torch_geometric.nn import GATv2Conv, TransformerConv, global_max_pool

    first, second = GATv2Conv(4, 8), TransformerConv(8, 8)
    head = nn.Linear(8, 2)
    # Node 5 has no neighbours, and graph 1 no nodes.
    edges = torch.tensor([[0, 1, 2, 3, 4], [1, 2, 3, 4, 0]])
    graph = torch.tensor([0, 0, 0, 2, 2, 2])
    nodes = torch.randn(6, 4)

    def loss():
        hidden = second(first(nodes, edges).relu(), edges)
        return nn.functional.cross_entropy(head(global_max_pool(hidden, graph, 3)), torch.tensor([0, 1, 1]))

    fit([*first.parameters(), *second.parameters(), *head.parameters()], loss)


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
    model.train()
    likelihood.train()
    marginal = gpytorch.mlls.ExactMarginalLogLikelihood(likelihood, model)
    fit(list(model.parameters()), lambda: -marginal(model(x), y), lr=0.1)


def x_transformers():
    from x_transformers import AutoregressiveWrapper, Decoder, TransformerWrapper

    decoder = Decoder(dim=16, depth=2, heads=2, attn_dim_head=8, rel_pos_bias=True, use_rmsnorm=True)
    model = AutoregressiveWrapper(TransformerWrapper(num_tokens=50, max_seq_len=40, attn_layers=decoder))
    tokens = words(2, 40)
    fit(list(model.parameters()), lambda: model(tokens))


if __name__ == "__main__":
    torch.manual_seed(0)
    globals()[sys.argv[1]]()
