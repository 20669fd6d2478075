"""Sweeps of a real question: where latency begins to hurt, by hand; and their picture."""


def test_the_command_says_where_latency_begins_to_hurt(parcast, tmp_path):
    """Rounds of 1 ms of work and two startups that nothing hides: 5 % is 25 us each."""
    program = tmp_path / "turns.py"
    program.write_text(
        "def program(rank, size, steps=64):\n"
        "    for step in range(steps):\n"
        "        compute(1e6)\n"
        "        if rank == 0:\n"
        "            send(1, 0)\n"
        "            recv(1)\n"
        "        elif rank == 1:\n"
        "            recv(0)\n"
        "            send(0, 0)\n"
    )
    machine = tmp_path / "plain.toml"
    machine.write_text(
        'name = "plain"\n[processor]\nrate = "1 GFLOP/s"\n'
        '[network]\nstartup = "1 us"\nbandwidth = "1 GB/s"\ncontention = "none"\n'
    )
    result = parcast("compare", str(program), str(machine), "-p", "2", "-s", "emulator,perturb",
                 "--sweep", "network.startup=0..100us")  # fmt: skip
    assert result.code == 0
    assert "above 25 us" in result.out


def test_a_setting_with_a_unit_is_drawn_as_a_curve(parcast, tmp_path):
    picture = tmp_path / "curve.svg"
    result = parcast("compare", "stencil2d", "ibm-sp2", "-p", "4,16", "-s", "spmd,perturb",
                 "--sweep", "network.startup=0..10us", "-o", str(picture))  # fmt: skip
    assert result.code == 0
    assert "network.startup [us]" in picture.read_text()
