#!/usr/bin/python3
"""Makes labelled texts of many classes: bench/many_classes.py CLASSES ROWS DIR

A class is something to do with a thing, such as "cancel_gift_card": up to 100 verbs and 100
things, each with synonyms, in 60 sentences around them. Classes that share a verb or a thing are
near each other, as in real sets of intents. Written are DIR/train.tsv with ROWS texts a class,
DIR/test.tsv with 2 other texts of each class (at most 4,000) and half as many of classes that are
in no training file, labelled "open". The same arguments give the same bytes.
"""
import os
import random
import sys

VERBS = """cancel|stop|call off;order|buy|get;return|send back|give back;renew|extend|prolong;pay|settle|pay for;
track|follow|locate;change|modify|edit;upgrade|improve|move up;downgrade|reduce|move down;activate|switch on|enable;
deactivate|switch off|disable;report|complain about|flag;find|look for|search for;compare|weigh up|contrast;
book|reserve|hold;rate|review|score;share|pass on|forward;print|get on paper|print out;download|save|fetch;
upload|hand in|submit;register|sign up|enrol;verify|confirm|prove;replace|swap|exchange;repair|fix|mend;
insure|cover|protect;clean|wash|wipe;schedule|plan|set a date for;postpone|delay|push back;approve|sign off|accept;
reject|turn down|refuse;translate|put into Spanish|interpret;export|send out|ship abroad;import|bring in|take over;
block|lock|freeze;unlock|open again|unfreeze;rename|call differently|relabel;delete|remove|erase;
restore|recover|bring back;hide|conceal|keep private;show|display|bring up;sell|get rid of|offer;rent|hire|lease;
lend|give out|loan;donate|give away|contribute;inspect|examine|look over;measure|size|gauge;split|divide|share out;
merge|combine|join;duplicate|copy|clone;archive|file away|store;sort|arrange|put in order;filter|narrow down|sift;
count|number|tally;calculate|work out|compute;estimate|guess|approximate;explain|describe|tell me about;
recommend|suggest|advise on;learn|study|understand;teach|show how to use|train on;test|try|try out;
install|set up|put in;uninstall|take out|get off;update|refresh|bring up to date;connect|link|pair;
disconnect|unlink|unpair;charge|power|load;refill|top up|fill;empty|drain|clear;pack|wrap|box;unpack|unwrap|unbox;
weigh|put on the scales|find the weight of;paint|colour|coat;cut|trim|shorten;lengthen|stretch|make longer;
heat|warm|cook;cool|chill|refrigerate;lift|raise|hoist;lower|bring down|drop;rotate|turn|spin;align|straighten|line up;
open|unseal|start;close|shut|end;invite|ask in|call in;notify|alert|warn;greet|welcome|say hello to;
thank|show gratitude for|appreciate;apologise for|say sorry for|regret;audit|go through|control;
certify|attest|vouch for;license|permit|allow;tax|declare|put on the return;refund|reimburse|pay back;
subscribe to|follow regularly|take out;leave|quit|withdraw from;sponsor|fund|finance;advertise|promote|market;
negotiate|haggle over|bargain for;inherit|take on|receive;bequeath|pass down|will;mortgage|pledge|borrow against"""
THINGS = """gift card|voucher;parcel|package;flight|plane ticket;hotel room|room;credit card|card;loan|credit;
phone contract|mobile plan;laptop|notebook computer;invoice|bill;password|passcode;bank account|account;car|vehicle;
bicycle|bike;train ticket|rail ticket;concert ticket|seat at the concert;insurance policy|insurance;
doctor's appointment|visit to the doctor;prescription|medicine;meal|dinner;recipe|cooking instructions;
newspaper|daily paper;magazine|journal;gym membership|place at the gym;course|class;exam|test paper;
passport|travel document;visa|entry permit;driving licence|driver's license;tax return|tax form;salary|wages;
holiday|vacation;sick note|medical certificate;meeting|call;report|write-up;contract|agreement;printer|printing machine;
router|wifi box;television|TV;fridge|refrigerator;oven|stove;washing machine|washer;sofa|couch;bed|mattress;
lamp|light;window|pane;door|entrance;roof|top of the house;garden|yard;tree|plant;dog|puppy;cat|kitten;
horse|pony;aquarium|fish tank;camera|photo camera;headphones|earphones;watch|wristwatch;ring|piece of jewellery;
shoes|trainers;jacket|coat;dress|gown;suitcase|luggage;backpack|rucksack;tent|camping tent;boat|sailing boat;
motorbike|motorcycle;tyre|wheel;engine|motor;battery|power pack;solar panel|photovoltaic panel;heating|radiator;
water meter|meter for water;electricity contract|power contract;gas bottle|gas cylinder;mortgage|home loan;
flat|apartment;parking space|parking spot;garage|car shelter;storage unit|depot;website|web page;domain|web address;
email address|mailbox;mailing list|newsletter;photo album|picture collection;playlist|list of songs;podcast|audio show;
film|movie;book|novel;board game|parlour game;puzzle|jigsaw;guitar|instrument;piano|keyboard;choir|singing group;
football match|soccer game;season ticket|pass for the season;medal|award;share|stock;bond|fixed-income paper;
pension|retirement plan;will|testament;donation|gift of money;blood sample|sample of blood;vaccination|jab"""
SENTENCES = """{v} {t}|I want to {v} {t}|I would like to {v} {t}|please {v} {t}|can you {v} {t}|could you {v} {t} for me|
how do I {v} {t}|how can I {v} {t}|help me {v} {t}|I need to {v} {t}|I have to {v} {t} today|is it possible to {v} {t}|
what do I have to do to {v} {t}|I am trying to {v} {t}|where can I {v} {t}|who can {v} {t} for me|
when will you {v} {t}|let me {v} {t}|I'd love to {v} {t}|we want to {v} {t}|my wife wants to {v} {t}|
my boss told me to {v} {t}|hello, I want to {v} {t}|hi there, how do I {v} {t}|good morning, please {v} {t}|
it is time to {v} {t}|I forgot to {v} {t}|I was not able to {v} {t}|why can I not {v} {t}|
is there a way to {v} {t} online|can I {v} {t} by phone|do I need an account to {v} {t}|
does it cost anything to {v} {t}|how long does it take to {v} {t}|show me how to {v} {t}|tell me how to {v} {t}|
I wonder how to {v} {t}|quickly, {v} {t}|{v} {t} now|{v} {t} as soon as possible|{v} {t} before Friday|
{v} {t} for my mother|{v} {t} again|ok, {v} {t} then|yes, I really want to {v} {t}|the app does not let me {v} {t}|
your site will not {v} {t}|what is the best way to {v} {t}|what happens if I {v} {t}|may I {v} {t}|
am I allowed to {v} {t}|should I {v} {t}|I promised to {v} {t}|nobody could {v} {t} yesterday|
just {v} {t}, thanks|can somebody {v} {t}|I plan to {v} {t} next week|we need somebody to {v} {t}|
is today a good day to {v} {t}|any idea how to {v} {t}"""
ARTICLES = ["my {}", "the {}", "a {}", "this {}", "our {}"]


def table(text):
    return [item.strip().split("|") for item in text.replace("\n", "").split(";") if item.strip()]


def main():
    if len(sys.argv) != 4 or not sys.argv[1].isdigit() or not sys.argv[2].isdigit():
        sys.exit("usage: bench/many_classes.py CLASSES ROWS DIR")
    classes, rows, to = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
    verbs, things = table(VERBS), table(THINGS)
    sentences = [s.strip() for s in SENTENCES.replace("\n", "").split("|")]
    if not 1 <= classes <= len(verbs) * len(things):
        sys.exit("wanted 1 to %d classes" % (len(verbs) * len(things)))
    random.seed("%d %d" % (classes, rows))
    pairs = [(v, t) for v in range(len(verbs)) for t in range(len(things))]
    random.shuffle(pairs)

    def some_texts(pair, n, seen):
        """n different texts; fewer if there are not so many."""
        for _ in range(20 * n):
            if n == 0:
                return
            thing = random.choice(ARTICLES).format(random.choice(things[pair[1]]))
            text = random.choice(sentences).format(v=random.choice(verbs[pair[0]]), t=thing)
            if text not in seen:
                seen.add(text)
                n -= 1
                yield text

    def name(pair):
        return (verbs[pair[0]][0] + "_" + things[pair[1]][0]).replace(" ", "_").replace("'", "")

    os.makedirs(to, exist_ok=True)
    tested = min(classes, 2000)
    with open(os.path.join(to, "train.tsv"), "w") as train, open(os.path.join(to, "test.tsv"), "w") as test:
        train.write("text\tlabel\n")
        test.write("text\tlabel\n")
        for i, pair in enumerate(pairs[:classes]):
            seen = set()
            for text in some_texts(pair, rows, seen):
                train.write("%s\t%s\n" % (text, name(pair)))
            if i * tested // classes != (i + 1) * tested // classes:
                for text in some_texts(pair, 2, seen):
                    test.write("%s\t%s\n" % (text, name(pair)))
        for pair in pairs[classes:classes + tested]:
            for text in some_texts(pair, 1, set()):
                test.write("%s\topen\n" % text)


main()
